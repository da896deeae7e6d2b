//! The ends of tasks without a body, and of bodies that leave children behind.

use std::sync::Arc;

use offshoot_core::{Cancel, Canceller, Intent, Task, TaskId, TaskState};

use super::cascade::cascade_later;
use crate::engine::Engine;
use crate::engine::live_task::Eviction;
use crate::error::Error;
use crate::settle::{self, BodyEnd, Orphans, PendingSettle};

/// Finishes the settlement of a body, and cancels its orphans.
pub(crate) async fn finish_settle(pending: PendingSettle) {
    if let Some((engine, orphans)) = pending.finish().await {
        cancel_orphans(&engine, orphans);
    }
}

fn cancel_orphans(engine: &Arc<Engine>, orphans: Orphans) {
    cascade_later(engine, orphans.owner, orphans.cancel);
}

/// Tries once to end a task that is not executed, and cancels its orphans.
async fn try_end(
    engine: &Arc<Engine>,
    id: TaskId,
    epoch: Option<u32>,
    end: &BodyEnd,
) -> Result<(), Error> {
    if let Some(orphans) = settle::settle_once(engine, id, epoch, end).await? {
        cancel_orphans(engine, orphans);
    }
    Ok(())
}

/// Ends a task that no worker executes.
pub(crate) async fn end(engine: &Arc<Engine>, task: &Task, end: BodyEnd) -> Result<(), Error> {
    for tries in 0.. {
        let epoch = (task.state != TaskState::Queued).then_some(task.lease.epoch);
        match try_end(engine, task.id(), epoch, &end).await {
            Err(Error::Contended) => {}
            // If the end was written without an answer, the next try applies it.
            Err(Error::Store(_)) if !engine.is_closed() => engine.back_off(tries).await,
            Err(Error::LeaseLost(_) | Error::Ended { .. } | Error::NotFound { .. }) => {
                return Ok(());
            }
            ended => return ended,
        }
    }
    Ok(())
}

/// Ends a task that was cancelled before it started. Returns `false` if the
/// task has started meanwhile.
pub(crate) async fn end_unstarted(engine: &Arc<Engine>, id: TaskId) -> bool {
    let never_started = BodyEnd::Evicted(Eviction::Abort);
    let live = engine.live_task(id);
    for tries in 0.. {
        match try_end(engine, id, None, &never_started).await {
            Err(Error::Contended) => {}
            Err(Error::Store(_)) if !engine.is_closed() => engine.back_off(tries).await,
            Err(Error::LeaseLost(_)) => return false,
            _ => break,
        }
    }
    // A worker that took this one for dead may have put the task back into the
    // queue while its body runs or starts here.
    if let Some(live) = live {
        live.evict(Eviction::Abandon);
    }
    true
}

/// Ends a task whose spawn failed as far as its caller knows.
pub(crate) async fn end_unacknowledged(engine: &Arc<Engine>, id: TaskId) {
    let cancel = Arc::new(Cancel {
        by: Canceller::Unacknowledged,
        reason: "the spawn was never acknowledged".into(),
        at: engine.now(),
        grace: engine.config.grace,
    });
    for tries in 0.. {
        match try_end_unacknowledged(engine, id, &cancel).await {
            Err(Error::Store(_) | Error::Contended) if !engine.is_closed() => {
                engine.back_off(tries).await;
            }
            _ => return engine.remove_live(id),
        }
    }
}

async fn try_end_unacknowledged(
    engine: &Arc<Engine>,
    id: TaskId,
    cancel: &Arc<Cancel>,
) -> Result<(), Error> {
    let marked = engine.change(
        id,
        |task, _| match task.cancel {
            Some(_) => Err(Error::Cancelled),
            None => Ok(Intent::Cancel(cancel.clone())),
        },
        |_, batch| batch,
    );
    match marked.await {
        Ok(_) | Err(Error::Cancelled) => {}
        Err(error) => return Err(error),
    }
    let task = engine.task(id).await?.ok_or_else(|| Error::not_found(id))?;
    let epoch = task.lease.worker.map(|_| task.lease.epoch);
    try_end(engine, id, epoch, &BodyEnd::Evicted(Eviction::Abort)).await
}
