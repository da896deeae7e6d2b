//! The permitted changes of a record.

use offshoot_core::{Phase, Task};

use crate::violation::{Checked, ensure};

/// Checks one change of a record against the table of the semantics.
pub fn check(before: &Task, after: &Task) -> Checked {
    let id = after.id();
    let (from, to) = (before.state.phase(), after.state.phase());
    ensure(!from.is_terminal(), "S2.1 an end is final", || {
        format!("{id} went from {from} to {to}")
    })?;
    ensure(after.seq == before.seq + 1, "S2.3 a record changes one step at a time", || {
        format!("{id} went from {} to {}", before.seq, after.seq)
    })?;
    ensure(is_legal(before, from, to), "S2.1 the transition table", || {
        format!("{id} went from {from} to {to}")
    })?;
    ensure(after.spec == before.spec, "S1.6 a spec never changes", || format!("{id}"))?;
    ensure(after.since >= before.since, "S2.8 age never decreases", || format!("{id}"))?;
    ensure(
        before.cancel.is_none() || before.cancel == after.cancel,
        "S6.4 a cancel can never be lost",
        || format!("{id} was asked to stop by {:?}, now {:?}", before.cancel, after.cancel),
    )?;
    let ended = after.outcome.as_ref().map(|outcome| outcome.state());
    ensure(
        !to.is_terminal() || ended == Some(after.state),
        "S2.3 no end without its payload",
        || format!("{id} is {} with {:?}", after.state, after.outcome),
    )?;
    ensure(
        before.outcome.is_none() || before.outcome == after.outcome,
        "S2.1 an outcome never changes",
        || format!("{id} had {:?}, now has {:?}", before.outcome, after.outcome),
    )
}

fn is_legal(before: &Task, from: Phase, to: Phase) -> bool {
    use Phase::{Cancelled, Completed, Failed, Lost, Queued, Running, Waiting};
    match (from, to) {
        (Queued, Queued | Running | Failed | Cancelled | Lost) => true,
        // The task went back into the queue, its children live on, and it is ended before it
        // starts again.
        (Queued, Waiting) => before.attempts > 0,
        (Running | Waiting, Queued | Running | Waiting) => true,
        (Running | Waiting, Completed | Failed | Cancelled | Lost) => true,
        _ => false,
    }
}
