//! What closes a runtime when the executor under it goes away.
//!
//! Bodies are futures of the executor. Once it is gone nobody polls them, and
//! no call of the runtime's own tells it so: tasks would stay `running` and
//! waits would hang. But an executor that goes drops its futures, so one of
//! them does nothing but wait to be dropped.

use std::sync::{Arc, Weak};

use tokio::sync::oneshot;

use crate::engine::Engine;

/// The runtime's end of the tether. Dropping it lets the other end go.
#[derive(Debug)]
pub(crate) struct Tether {
    _runtime: oneshot::Sender<()>,
}

/// The executor's end. It keeps nothing alive.
struct Executor(Weak<Engine>);

impl Tether {
    /// Ties an engine to its executor.
    pub(crate) fn tie(engine: &Arc<Engine>) -> Self {
        let (runtime, gone) = oneshot::channel::<()>();
        let executor = Executor(Arc::downgrade(engine));
        engine.world.spawn(async move {
            let executor = executor;
            // Nothing is ever sent: it resolves when the runtime is gone.
            let _ = gone.await;
            drop(executor);
        });
        Self { _runtime: runtime }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // A runtime that ended by itself is closed by now.
        if let Some(engine) = self.0.upgrade().filter(|engine| !engine.is_closed()) {
            engine.abandon();
        }
    }
}
