//! Closes a runtime when the executor under it goes away.
//!
//! Bodies are futures of the executor. Without it they are not polled, and no
//! call of the runtime would notice: tasks would stay `running` and waits would
//! hang. An executor drops its futures when it goes, so one of them only waits
//! to be dropped.

use std::sync::{Arc, Weak};

use tokio::sync::oneshot;

use crate::engine::Engine;

/// Held by the runtime. Dropping it ends the future in the executor.
#[derive(Debug)]
pub(super) struct ExecutorGuard {
    _runtime: oneshot::Sender<()>,
}

/// Held by the future in the executor. Dropping it closes the runtime.
struct CloseOnDrop(Weak<Engine>);

impl ExecutorGuard {
    /// Spawns the future that closes the engine when it is dropped.
    pub(super) fn new(engine: &Arc<Engine>) -> Self {
        let (runtime, gone) = oneshot::channel::<()>();
        let close = CloseOnDrop(Arc::downgrade(engine));
        engine.world.spawn(async move {
            let close = close;
            // Nothing is sent: this resolves when the runtime is dropped.
            let _ = gone.await;
            drop(close);
        });
        Self { _runtime: runtime }
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(engine) = self.0.upgrade().filter(|engine| !engine.is_closed()) {
            engine.abandon();
        }
    }
}
