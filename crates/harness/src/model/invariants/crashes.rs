//! The number of crashes of a task: attempts that died while they ran count, in a row, until
//! one makes progress.

use offshoot_core::{Change, FailureKind, Outcome, Recovery, Task, TaskState, WorkerId};

use crate::model::store_model::StoreModel;
use crate::running_bodies::{BackendFinding, RunningBodies};
use crate::scenario::MAX_ATTEMPTS;
use crate::violation::{Checked, ensure};

/// Checks the effect of a change by `by` on the number.
pub fn check(
    shadow: &StoreModel,
    (before, after): (&Task, &Task),
    change: &Change,
    by: Option<WorkerId>,
) -> Checked {
    let id = after.id();
    let died = before.lease.worker.is_some() && before.lease.worker != by;
    // A waiting task does nothing that could kill its worker.
    let crashes = before.crashes + u32::from(died && before.state == TaskState::Running);
    let expected = match change {
        Change::Requeued => {
            ensure(
                before.lease.worker.is_some(),
                "S9.5 of two workers that recover at once exactly one wins",
                || format!("{id} was put back into the queue although it was {}", before.state),
            )?;
            crashes
        }
        Change::Advanced => {
            let further = shadow.tasks.get(&id).is_some_and(|known| {
                known.further == before.lease.epoch && before.lease.worker == by
            });
            ensure(further, "S9.2 only what gets further leaves its crashes behind", || {
                format!("{id} has committed nothing under {:?}", before.lease)
            })?;
            0
        }
        _ => before.crashes,
    };
    ensure(
        after.crashes == expected,
        "S9.2 attempts that died while they ran are counted, and no others",
        || {
            format!(
                "{id} went from {} crashes to {} by {change:?}, its lease {:?}",
                before.crashes, after.crashes, before.lease
            )
        },
    )?;
    let looped = matches!(
        after.outcome.as_deref(),
        Some(Outcome::Failed(failure)) if failure.kind == FailureKind::CrashLoop
    );
    ensure(
        !looped || before.outcome.is_some() || crashes >= MAX_ATTEMPTS,
        "S9.2 a task fails only after it crashed that often in a row",
        || format!("{id} has crashed {crashes} times"),
    )
}

/// Checks that a task whose worker died is resumed only if its kind allows it and its end is
/// unknown.
pub fn check_policy(
    bodies: &RunningBodies,
    before: &Task,
    change: &Change,
    by: Option<WorkerId>,
) -> Checked {
    if *change != Change::Requeued || before.lease.worker == by {
        return Ok(());
    }
    let id = before.id();
    ensure(
        before.spec.recovery != Recovery::Lose,
        "S9.2 what cannot be taken up again is lost",
        || format!("{id} was put back into the queue"),
    )?;
    let found = bodies.found(id, before.lease.epoch);
    ensure(
        !found.is_some_and(BackendFinding::is_end),
        "S12.4 what a backend knows to have ended is not started again",
        || format!("{id} was put back into the queue, although {found:?} was found"),
    )
}
