//! The rules for the end of a task and its effects.

use offshoot_core::{
    Failure, FailureKind, Outcome, Owner, Recovery, Task, TaskId, TaskState, WorkerId,
};
use offshoot_store::{Batch, EndWrite, Write};

use crate::model::store_model::StoreModel;
use crate::running_bodies::{BackendFinding, BodyEnd, RunningBodies};
use crate::violation::{Checked, Violation, ensure};

/// Checks that the commit that ends a task reports the end to its owner, and that no task it
/// owns lives on. `shadow` is the state after the commit.
pub fn check_notice(shadow: &StoreModel, batch: &Batch, task: &Task) -> Checked {
    let id = task.id();
    let ends_too = |owner: TaskId| {
        let put = batch.writes.iter().find_map(|write| match write {
            Write::End(EndWrite { task, .. }) if task.id() == owner => Some(task),
            _ => None,
        });
        put.map(|task| task.owner())
    };
    let mut recipient = task.owner();
    while let Owner::Task(owner) = recipient
        && let Some(next) = ends_too(owner)
    {
        recipient = next;
    }
    let told = batch.writes.iter().filter(|write| match write {
        // An owner that ends in the same commit passes its rows on.
        Write::End(end) => {
            end.task.id() == id && (end.recipient == task.owner() || end.recipient == recipient)
        }
        _ => false,
    });
    let told = told.count();
    ensure(told == 1, "S4.1 the end and the owner's row are one transaction", || {
        format!("{id} ended {} with {told} rows for {}", task.state, task.owner())
    })?;
    let children = shadow.tasks.get(&id).map_or(0, |known| known.live_children);
    ensure(children == 0, "S2.9 no task outlives its owner", || {
        format!("{id} ended {} and owns {children} live tasks", task.state)
    })?;
    let unread = shadow.inboxes.get(&Owner::Task(id)).map_or(0, |rows| rows.len());
    ensure(unread == 0, "S2.9 rows unread when an owner ends move on", || {
        format!("{id} ended {} with {unread} rows unread", task.state)
    })?;
    if let Owner::Task(owner) = task.owner() {
        let live = shadow.task(owner).is_some_and(Task::is_live);
        ensure(live || ends_too(owner).is_some(), "S2.9 no task outlives its owner", || {
            format!("{id} ended {} after its owner {owner}", task.state)
        })?;
    }
    Ok(())
}

/// Checks that an outcome is true. `before` is the record from which it was decided.
pub fn check_truth(
    before: &Task,
    after: &Task,
    bodies: &RunningBodies,
    worker: Option<WorkerId>,
) -> Checked {
    let Some(outcome) = after.outcome.as_deref().filter(|_| before.outcome.is_none()) else {
        return Ok(());
    };
    let id = after.id();
    let said = bodies.returned(id, before.lease.epoch);
    let lie = |detail: &str| {
        Err(Violation::new(
            "S2.6 the terminal state is what really happened",
            format!("{id} ended {outcome:?}, but {detail}; its body said {said:?}"),
        ))
    };
    let died = before.lease.worker.is_some() && before.lease.worker != worker;
    let found = bodies.found(id, before.lease.epoch).filter(|found| died && found.is_end());
    match (found, outcome) {
        (None, _) | (_, Outcome::Cancelled { .. }) => {}
        (Some(BackendFinding::Value(value)), Outcome::Completed { value: told, .. })
            if told.decode().ok() == Some(value) =>
        {
            return Ok(());
        }
        (Some(BackendFinding::Error), Outcome::Failed(end)) if end.kind == FailureKind::Error => {
            return Ok(());
        }
        (Some(BackendFinding::Lost), Outcome::Lost { .. }) => return Ok(()),
        (Some(found), _) => return lie(&format!("the backend found {found:?}")),
    }
    match outcome {
        Outcome::Completed { value, cancel_requested } => {
            let Some(BodyEnd::Value(tag)) = said else { return lie("no body returned a value") };
            if value.decode::<u64>().ok() != Some(*tag) {
                return lie("the value is another");
            }
            if *cancel_requested != before.cancel.is_some() {
                return lie("it does not say whether a cancel came before");
            }
        }
        Outcome::Failed(failure) => return check_failure(after, failure, said, lie),
        Outcome::Cancelled { cancel, forced } => {
            if before.cancel.as_deref() != Some(cancel) {
                return lie("no caller asked for it");
            }
            let stopped = matches!(said, Some(BodyEnd::Cancelled));
            let unstarted = before.lease.epoch == 0;
            if *forced && (stopped || unstarted) && before.lease.worker == worker {
                return lie("nothing was forced");
            }
            if !*forced && !stopped && !unstarted {
                return lie("the body did not stop by itself");
            }
        }
        Outcome::Lost { .. } => {
            if !died && before.state != TaskState::Queued {
                return lie("its worker is alive");
            }
            if after.spec.recovery != Recovery::Lose {
                return lie("its kind can be taken up again");
            }
        }
    }
    Ok(())
}

fn check_failure(
    task: &Task,
    failure: &Failure,
    said: Option<&BodyEnd>,
    lie: impl Fn(&str) -> Checked,
) -> Checked {
    match failure.kind {
        FailureKind::Error if !matches!(said, Some(BodyEnd::Error)) => lie("no body failed"),
        FailureKind::Panic if !matches!(said, Some(BodyEnd::Panic)) => lie("no body panicked"),
        FailureKind::Panic if failure.location.is_none() => lie("it does not say where"),
        FailureKind::Timeout if task.spec.terms.timeout.is_none() || said.is_some() => {
            lie("its time was not over")
        }
        _ => Ok(()),
    }
}
