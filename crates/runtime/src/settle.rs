//! The end of a task: one commit with the outcome, the owner's inbox row, and
//! the ends of owners that waited for nothing else.
//!
//! [`begin`] settles a task at once if the store answers at once. Otherwise
//! [`PendingSettle::finish`] does, and tries again for as long as the runtime
//! is open. Both hand the outcome of the commit to [`end_commit::after_commit`].
//!
//! Children that a failed task leaves behind are returned as [`Orphans`]; the
//! caller cancels them.

mod end_commit;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use offshoot_core::{Cancel, Failure, FailureKind, Intent, RequeueReason, TaskId};
use offshoot_store::CommitFuture;

use self::end_commit::EndPlan;
pub(crate) use self::end_commit::orphan_cancel;
use crate::engine::Engine;
use crate::engine::backend::ClearReason;
use crate::engine::body::BodyResult;
use crate::engine::handle::Context;
use crate::engine::live_task::{Eviction, LiveTask};
use crate::error::Error;
use crate::report;

/// The end of the execution of a task.
#[derive(Debug)]
pub(crate) enum BodyEnd {
    Returned(BodyResult),
    Panicked(Failure),
    Evicted(Eviction),
    Lost(String),
    Failed(Failure),
}

/// Live children whose owner has ended without success, and the request to
/// cancel them.
#[must_use = "the children go on until they are cancelled"]
pub(crate) struct Orphans {
    pub(crate) owner: TaskId,
    pub(crate) cancel: Arc<Cancel>,
}

/// The end of a body that the store has not answered yet.
#[must_use = "the task is not settled until this is finished"]
pub(crate) struct PendingSettle {
    engine: Arc<Engine>,
    live: Arc<LiveTask>,
    end: BodyEnd,
    commit: Option<(CommitFuture, EndPlan)>,
}

/// Settles a task whose body is gone. Returns what is left to do unless the
/// store has answered at once.
pub(crate) fn begin(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    end: BodyEnd,
) -> Option<PendingSettle> {
    let mut commit = None;
    if is_simple(engine, live, &end)
        // If the record is not at hand, the slow path reads it again.
        && let Some(inputs) = end_commit::inputs_at_hand(engine, live)
        && let Ok((pending, plan)) = end_commit::commit(engine, inputs, Some(live.epoch()), &end)
    {
        match pending.try_now() {
            // Without children there are no orphans.
            Ok(outcome) => {
                if end_commit::after_commit(engine, plan, outcome, Some(live)).is_ok() {
                    return None;
                }
            }
            Err(pending) => commit = Some((pending, plan)),
        }
    }
    Some(PendingSettle { engine: engine.clone(), live: live.clone(), end, commit })
}

/// Whether the end needs one commit and nothing else.
fn is_simple(engine: &Engine, live: &LiveTask, end: &BodyEnd) -> bool {
    let small = match end {
        BodyEnd::Returned(Ok(value)) => {
            let sizes = &engine.config.sizes;
            value.bytes() <= sizes.inline.min(sizes.value) as u64
        }
        BodyEnd::Evicted(Eviction::Release) => false,
        // The backend first clears what is outside this process.
        BodyEnd::Evicted(_) => !engine.kinds.contains_key(&live.spec.kind),
        _ => true,
    };
    let reported = live.rare_if_any().is_some_and(|rare| rare.reports.lock().is_some());
    small && !reported && !engine.is_closed()
}

impl PendingSettle {
    /// Settles the task, however often the store fails. Returns the children
    /// that are to be cancelled, and the engine for it.
    pub(crate) async fn finish(self) -> Option<(Arc<Engine>, Orphans)> {
        let Self { engine, live, end, commit } = self;
        if let Some((commit, plan)) = commit
            && end_commit::after_commit(&engine, plan, commit.await, Some(&live)).is_ok()
        {
            return None;
        }
        let orphans = settle_fully(&engine, &live, end).await?;
        Some((engine, orphans))
    }
}

async fn settle_fully(engine: &Arc<Engine>, live: &Arc<LiveTask>, end: BodyEnd) -> Option<Orphans> {
    if let BodyEnd::Evicted(why) = end {
        clear(engine, live, why).await;
    }
    if matches!(end, BodyEnd::Evicted(Eviction::Release)) {
        release(engine, live).await;
        return None;
    }
    let end = store_large_result(engine, live, end).await;
    let id = live.spec.id;
    let mut tries = 0;
    loop {
        if engine.is_closed() {
            return None;
        }
        // The last report is written before the end.
        let settled = match report::write(engine, live).await {
            Err(Error::Store(error)) => Err(Error::Store(error)),
            _ => settle_once(engine, id, Some(live.epoch()), &end).await,
        };
        match settled {
            Ok(orphans) => return orphans,
            Err(Error::Contended) => continue,
            Err(Error::Store(error)) => {
                if tries == 0 {
                    tracing::warn!(task = %id, %error, "the end of a task could not be written yet");
                }
                live.set_settling(true);
                live.notify_changed();
                engine.back_off(tries).await;
                tries = tries.saturating_add(1);
            }
            // Another attempt holds the lease, or the task has ended.
            Err(_) => {
                if engine.is_current(live) {
                    engine.remove_live(id);
                }
                return None;
            }
        }
    }
}

/// Tries once to write the end of a task. `epoch` is that of the attempt that
/// ended, or `None` for a task that is not executed.
pub(crate) async fn settle_once(
    engine: &Arc<Engine>,
    id: TaskId,
    epoch: Option<u32>,
    end: &BodyEnd,
) -> Result<Option<Orphans>, Error> {
    let Some(inputs) = end_commit::read_inputs(engine, id, epoch).await? else {
        // An earlier try was written, but the store did not say so.
        return end_commit::apply_written(engine, id).await;
    };
    let (commit, plan) = end_commit::commit(engine, inputs, epoch, end)?;
    end_commit::after_commit(engine, plan, commit.await, None)
}

/// Gives a task back to the queue, for the next runtime.
async fn release(engine: &Arc<Engine>, live: &Arc<LiveTask>) {
    let (id, epoch) = (live.spec.id, live.epoch());
    let mut tries = 0;
    loop {
        let released = engine
            .change(
                id,
                |_, _| Ok(Intent::Requeue(RequeueReason::Released)),
                |_, batch| batch.fenced(id, epoch),
            )
            .await;
        match released {
            Err(Error::Store(_) | Error::Contended) if !engine.is_closed() => {
                engine.back_off(tries).await;
                tries += 1;
            }
            _ => return engine.remove_live(id),
        }
    }
}

/// Moves a result that is too large for a record to a blob.
async fn store_large_result(engine: &Engine, live: &LiveTask, end: BodyEnd) -> BodyEnd {
    let BodyEnd::Returned(Ok(value)) = &end else { return end };
    match engine.store_large(live, "result", value.clone()).await {
        Ok(value) => BodyEnd::Returned(Ok(value)),
        Err(error) => {
            let kind = match error {
                Error::TooLarge(_) => FailureKind::TooLarge,
                _ => FailureKind::Error,
            };
            BodyEnd::Failed(Failure::new(kind, error.to_string()))
        }
    }
}

/// Has the backend of a task clear what is left of its body.
async fn clear(engine: &Arc<Engine>, live: &Arc<LiveTask>, why: Eviction) {
    let why = match why {
        Eviction::Abort => ClearReason::Aborted,
        Eviction::Expire => ClearReason::Expired,
        Eviction::Release => ClearReason::Released,
        // Another worker has the task, and this body is in its way.
        Eviction::Abandon => ClearReason::Aborted,
    };
    let Some(backend) = engine.kinds.get(&live.spec.kind) else { return };
    let cx = Context { engine: engine.clone(), live: live.clone() };
    let cleared = AssertUnwindSafe(async { backend.clear(&cx, why).await });
    if cleared.catch_unwind().await.is_err() {
        tracing::warn!(task = %live.id(), "a backend panicked when it was asked to clear");
    }
}

/// Clears what is left of an abandoned body, in a task of the executor. When
/// the runtime closes, `Backend::close` does this for all bodies.
pub(crate) fn clear_later(engine: &Arc<Engine>, live: &Arc<LiveTask>) {
    if engine.is_closed() || !engine.kinds.contains_key(&live.spec.kind) {
        return;
    }
    let (runner, live) = (engine.clone(), live.clone());
    engine.world.spawn(async move { clear(&runner, &live, Eviction::Abandon).await });
}
