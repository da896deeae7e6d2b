//! Shutdown: resumable tasks go back to the queue, the others are cancelled.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{Cancel, Canceller, Recovery};

use super::sweep::{TaskIds, cancel_all};
use crate::engine::Engine;
use crate::engine::live_task::{Eviction, LiveTask};
use crate::error::Error;

/// Stops all bodies and returns how many are left when `patience` is over.
pub(crate) async fn shut_down(engine: &Arc<Engine>, patience: Duration) -> usize {
    engine.start_draining();
    let cancel = shutdown_cancel(engine, patience / 2);
    // A slot that is given back from now on starts no task.
    engine.slots.close();
    let over = std::pin::pin!(engine.world.sleep(patience));
    let stopped = std::pin::pin!(stop_all(engine, &cancel));
    match select(over, stopped).await {
        Either::Left(_) => body_count(engine),
        Either::Right(_) => 0,
    }
}

/// Stops every body and waits until all are gone.
async fn stop_all(engine: &Arc<Engine>, cancel: &Arc<Cancel>) {
    // Tasks that no later runtime can go on with end first: their descendants
    // are cancelled with them, resumable or not.
    let (resumable, others): (Vec<_>, Vec<_>) =
        engine.all_live_tasks().into_iter().partition(|live| can_go_on(engine, live));
    cancel_bodies(engine, &others, cancel).await;
    for live in resumable {
        if live.epoch() > 0 && !live.is_cancelled() {
            live.evict(Eviction::Release);
        }
    }
    until_no_bodies(engine).await;
}

/// Stops a body that begins during the shutdown: its record was not there yet
/// when the others were stopped.
pub(crate) fn stop_late(engine: &Arc<Engine>, live: Arc<LiveTask>) {
    if can_go_on(engine, &live) {
        live.evict(Eviction::Release);
        return;
    }
    let runner = engine.clone();
    engine.world.spawn(async move {
        let cancel = shutdown_cancel(&runner, runner.config.grace);
        cancel_bodies(&runner, &[live], &cancel).await;
    });
}

fn shutdown_cancel(engine: &Engine, grace: Duration) -> Arc<Cancel> {
    let reason = "the runtime shuts down".into();
    Arc::new(Cancel { by: Canceller::Shutdown, reason, at: engine.now(), grace })
}

/// Whether a later runtime can resume, restart or start the task.
fn can_go_on(engine: &Engine, live: &LiveTask) -> bool {
    let registered = engine.kinds.contains_key(&live.spec.kind);
    registered && (live.spec.recovery != Recovery::Lose || live.epoch() == 0)
}

/// Cancels the tasks of these bodies, many in one commit.
async fn cancel_bodies(engine: &Arc<Engine>, bodies: &[Arc<LiveTask>], cancel: &Arc<Cancel>) {
    for tries in 0.. {
        let mut tasks = Vec::with_capacity(bodies.len());
        for live in bodies {
            // A task that waits for its children has its outcome, and a passive
            // one belongs to another worker.
            if let Ok(Some(task)) = engine.task(live.spec.id).await
                && task.is_live()
                && !task.is_held()
                && live.is_active()
            {
                tasks.push(task);
            }
        }
        match cancel_all(engine, tasks, cancel, &mut TaskIds::default()).await {
            Err(Error::Store(_) | Error::Contended) if !engine.is_closed() => {
                engine.back_off(tries).await;
            }
            Err(error) => return tracing::warn!(%error, "not everything could be cancelled"),
            Ok(()) => return,
        }
    }
}

/// The number of bodies in this process.
fn body_count(engine: &Engine) -> usize {
    engine.all_live_tasks().iter().filter(|live| live.epoch() > 0).count()
}

async fn until_no_bodies(engine: &Engine) {
    loop {
        let gone = engine.body_gone.notified();
        if body_count(engine) == 0 {
            return;
        }
        gone.await;
    }
}
