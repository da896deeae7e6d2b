//! The commit that ends a task: what it depends on, what it writes, and what
//! follows once it is durable.

use std::sync::Arc;

use offshoot_core::{
    Cancel, Canceller, Cursor, Failure, FailureKind, Intent, LiveChildren, Outcome, Owner, Stamp,
    Task, TaskId, TaskState, decide, text,
};
use offshoot_store::{Batch, CommitError, CommitFuture, Conflict, EndWrite, Fence, Guard, Write};

use super::{BodyEnd, Orphans};
use crate::engine::Engine;
use crate::engine::body::BodyError;
use crate::engine::live_task::{Eviction, LiveTask};
use crate::error::Error;

/// The records that an end depends on.
pub(super) struct EndInputs {
    task: Task,
    children: LiveChildren,
    /// The owners that wait for nothing but this task, nearest first.
    held: Vec<Task>,
    /// The owner that receives the row: the nearest one that does not end.
    recipient: Owner,
}

/// The consequences of a durable end.
pub(super) struct EndPlan {
    id: TaskId,
    /// The last record of the task, unless it waits for its children.
    ended: Option<Task>,
    /// The last records of the owners that end with it.
    released: Vec<Task>,
    recipient: Owner,
    /// The request to cancel the children that the task leaves behind.
    orphan_cancel: Option<Arc<Cancel>>,
}

/// The inputs of an ordinary end, if they are known at once. The commit refuses
/// if the task has children after all, or an owner that waits for nothing else.
pub(super) fn inputs_at_hand(engine: &Engine, live: &LiveTask) -> Option<EndInputs> {
    let task = match live.first() {
        Some(first) => first.clone(),
        None => engine.store.task(live.id()).try_now().ok()?.ok()??,
    };
    if !task.is_live() || task.is_held() || task.lease.epoch != live.epoch() {
        return None;
    }
    let recipient = task.owner();
    Some(EndInputs { task, children: LiveChildren::None, held: Vec::new(), recipient })
}

/// Reads the inputs of an end; `None` if the task has ended.
pub(super) async fn read_inputs(
    engine: &Engine,
    id: TaskId,
    epoch: Option<u32>,
) -> Result<Option<EndInputs>, Error> {
    let Some(task) = engine.store.task(id).await? else { return Ok(None) };
    if !task.is_live() || task.is_held() {
        return Ok(None);
    }
    let ours = match epoch {
        Some(epoch) => epoch == task.lease.epoch,
        // A task that has started is ended by its body.
        None => task.state == TaskState::Queued,
    };
    if !ours {
        return Err(Error::LeaseLost(id));
    }
    let mut recipient = task.owner();
    let mut held = Vec::new();
    if engine.store.counts(Owner::Task(id)).await?.live() > 0 {
        return Ok(Some(EndInputs { task, children: LiveChildren::Some, held, recipient }));
    }
    while let Owner::Task(id) = recipient
        && let Some(owner) = engine.store.task(id).await?.filter(Task::is_held)
        && engine.store.counts(recipient).await?.live() == 1
    {
        recipient = owner.owner();
        held.push(owner);
    }
    Ok(Some(EndInputs { task, children: LiveChildren::None, held, recipient }))
}

/// Commits the end of a task, and with it of the owners that waited for nothing
/// else. The row goes to the nearest owner that does not end in the same
/// commit.
pub(super) fn commit(
    engine: &Engine,
    inputs: EndInputs,
    epoch: Option<u32>,
    end: &BodyEnd,
) -> Result<(CommitFuture, EndPlan), Error> {
    let EndInputs { task, children, held, recipient } = inputs;
    let (id, now) = (task.id(), engine.now());
    let outcome = outcome(&task, end, engine.config.sizes.text);
    let decided = decide(&task, Intent::Finish(outcome, children), now)
        .map_err(|_| Error::Ended { id, state: task.state })?;
    let mut batch = Batch::new(now);
    batch.fence = epoch.map(|epoch| Fence { task: id, epoch });
    let orphan_cancel = match children {
        LiveChildren::Some => orphan_cancel(engine, &decided.task, now),
        LiveChildren::None => None,
    };
    let mut plan = EndPlan { id, ended: None, released: Vec::new(), recipient, orphan_cancel };
    if children == LiveChildren::Some {
        batch.push(Write::Put(decided.task, decided.change));
        batch.guards.push(Guard::HasChildren(id));
        return Ok((engine.store.commit(batch), plan));
    }
    batch.guards.push(Guard::Childless(id));
    plan.ended = Some(decided.task.clone());
    batch.push(Write::End(EndWrite { task: decided.task, change: decided.change, recipient }));
    let mut child = id;
    for owner in &held {
        let id = owner.id();
        let decided = decide(owner, Intent::Release, now).map_err(|_| Error::Contended)?;
        batch.guards.push(Guard::OnlyChild { owner: id, child });
        plan.released.push(decided.task.clone());
        batch.push(Write::End(EndWrite { task: decided.task, change: decided.change, recipient }));
        child = id;
    }
    if let Owner::Task(owner) = recipient {
        batch.guards.push(Guard::OwnerStays { owner, child });
    }
    Ok((engine.store.commit(batch), plan))
}

/// Does what follows from the outcome of an end's commit. `live` is the entry
/// of the body that ended, if the caller has it.
pub(super) fn after_commit(
    engine: &Engine,
    plan: EndPlan,
    outcome: Result<Cursor, CommitError>,
    live: Option<&LiveTask>,
) -> Result<Option<Orphans>, Error> {
    match outcome {
        Ok(_) => {}
        Err(CommitError::Conflict(Conflict::LeaseOver(_) | Conflict::NoTask(_))) => {
            return Err(Error::LeaseLost(plan.id));
        }
        Err(CommitError::Conflict(_)) => return Err(Error::Contended),
        Err(CommitError::Store(error)) => return Err(Error::Store(error)),
    }
    match &plan.ended {
        Some(last) => {
            if live.is_none() && engine.live_task(plan.id).is_none() {
                engine.notify_ancestors(&last.spec);
            }
            engine.remove_ended(last);
        }
        None => hold_for_children(engine, plan.id),
    }
    for owner in &plan.released {
        remove_with_body(engine, owner);
    }
    if plan.ended.is_some() {
        match (plan.recipient, live.and_then(LiveTask::session)) {
            (Owner::Session(_), Some(session)) => session.wakeup.notify(),
            (recipient, _) => engine.notify_inbox(recipient),
        }
    }
    let owner = plan.id;
    Ok(plan.orphan_cancel.map(|cancel| Orphans { owner, cancel }))
}

/// Does what follows from an end that was written without an answer of the
/// store, for the task and for the owners that ended with it.
pub(super) async fn apply_written(engine: &Engine, id: TaskId) -> Result<Option<Orphans>, Error> {
    let mut next = Owner::Task(id);
    let mut orphans = None;
    while let Owner::Task(id) = next {
        let Some(task) = engine.store.task(id).await? else {
            // Its retention is over already. The owners that ended with it may
            // be gone as well.
            let Some(live) = engine.live_task(id) else { break };
            live.evict(Eviction::Abandon);
            engine.remove_live(id);
            next = live.spec.owner();
            engine.notify_inbox(next);
            continue;
        };
        if task.is_held() {
            hold_for_children(engine, id);
            let cancel = orphan_cancel(engine, &task, engine.now());
            orphans = cancel.map(|cancel| Orphans { owner: id, cancel });
        }
        if task.is_live() {
            break;
        }
        remove_with_body(engine, &task);
        engine.notify_inbox(task.owner());
        next = task.owner();
    }
    Ok(orphans)
}

/// Removes the entry of a task that has ended, and drops the body of it if one
/// is here: a worker that took this one for dead may have ended the task.
fn remove_with_body(engine: &Engine, task: &Task) {
    match engine.live_task(task.id()) {
        Some(live) if live.epoch() != 0 => live.evict(Eviction::Abandon),
        Some(_) => {}
        // An earlier process executed it, so its foreign messages are not
        // known.
        None => engine.notify_ancestors(&task.spec),
    }
    engine.remove_ended(task);
}

/// Keeps a task that waits for its children, without a body and without a slot.
fn hold_for_children(engine: &Engine, id: TaskId) {
    if let Some(live) = engine.live_task(id) {
        live.set_epoch(0);
        live.set_settling(false);
        live.free_slot();
        live.notify_changed();
    }
    engine.notify_body_gone();
}

/// The request to cancel the children of a task that ends with this record. A
/// task that completes leaves its children alone, and the children of a
/// cancelled one are cancelled with it.
pub(crate) fn orphan_cancel(engine: &Engine, task: &Task, now: Stamp) -> Option<Arc<Cancel>> {
    let completed = matches!(task.outcome.as_deref(), Some(Outcome::Completed { .. }));
    (!completed && task.cancel.is_none()).then(|| {
        Arc::new(Cancel {
            by: Canceller::OwnerEnded(task.id()),
            reason: "its owner ended".into(),
            at: now,
            grace: engine.config.grace,
        })
    })
}

/// The outcome of a task, given how its execution ended and what was asked of
/// it. Texts of bodies and backends are cut to `bytes`.
fn outcome(task: &Task, end: &BodyEnd, bytes: usize) -> Outcome {
    match end {
        BodyEnd::Returned(Ok(value)) => Outcome::value(value.clone()),
        BodyEnd::Returned(Err(BodyError::Cancelled)) => match &task.cancel {
            Some(cancel) => Outcome::Cancelled { cancel: cancel.clone(), forced: false },
            None => Outcome::from(Failure::new(
                FailureKind::Error,
                "the body stopped as if cancelled, but the task was not cancelled",
            )),
        },
        BodyEnd::Returned(Err(BodyError::Failed(failure))) | BodyEnd::Panicked(failure) => {
            failure.clone().bounded(bytes).into()
        }
        BodyEnd::Failed(failure) => failure.clone().into(),
        BodyEnd::Evicted(Eviction::Expire) => {
            let limit = task.spec.terms.timeout.unwrap_or_default();
            Outcome::from(Failure::new(
                FailureKind::Timeout,
                format!("the task ran longer than the {limit:?} it may"),
            ))
        }
        BodyEnd::Evicted(_) => match &task.cancel {
            Some(cancel) => {
                let forced = task.lease.epoch > 0;
                Outcome::Cancelled { cancel: cancel.clone(), forced }
            }
            None => Outcome::Lost { reason: "its body was dropped".into() },
        },
        BodyEnd::Lost(reason) => Outcome::Lost { reason: text::fit(reason, bytes).into_owned() },
    }
}
