//! The rules for leases: which worker may execute and write.

use offshoot_core::{Owner, Phase, Task, WorkerId};
use offshoot_store::{Batch, Write};

use crate::model::store_model::StoreModel;
use crate::running_bodies::RunningBodies;
use crate::violation::{Checked, ensure};

/// Checks the lease of a record as `by` writes it.
pub fn check_record(
    before: Option<&Task>,
    after: &Task,
    bodies: &RunningBodies,
    by: Option<WorkerId>,
) -> Checked {
    let id = after.id();
    let executes = matches!(after.state.phase(), Phase::Running | Phase::Waiting);
    let leased = after.lease.worker.is_some();
    ensure(
        leased == (executes && !after.is_held()),
        "S9.1 a running attempt alone holds a lease",
        || format!("{id} is {} with {:?}", after.state, after.lease),
    )?;
    if let Some(before) = before {
        let starts = before.state.phase() == Phase::Queued && after.state.phase() == Phase::Running;
        let epoch = before.lease.epoch + u32::from(starts);
        ensure(after.lease.epoch == epoch, "S9.1 each holder has the next epoch", || {
            format!("{id} went from {:?} to {:?}", before.lease, after.lease)
        })?;
        ensure(
            !starts || after.lease.worker == by,
            "S9.1 a worker starts tasks for itself only",
            || format!("{by:?} gave {id} the lease {:?}", after.lease),
        )?;
        // A worker that takes another for dead cannot wait for its bodies.
        let own = bodies.inside(id, before.lease.epoch).filter(|_| before.lease.worker == by);
        ensure(
            own.is_none() || (leased && after.lease.epoch == before.lease.epoch),
            "S6.1 an end is told only once the body is gone",
            || format!("{id} is {} while its body under {:?} runs", after.state, before.lease),
        )?;
    }
    Ok(())
}

/// Checks that a write reserved to an attempt comes from the attempt that holds the lease, and
/// from its worker.
pub fn check_fence(shadow: &StoreModel, batch: &Batch, by: Option<WorkerId>) -> Checked {
    if let Some(fence) = &batch.fence {
        let lease = shadow.task(fence.task).map(|task| task.lease);
        ensure(
            lease.is_some_and(|lease| lease.worker.is_some() && lease.epoch == fence.epoch),
            "S9.1 a stale writer is refused",
            || format!("{} wrote under epoch {} against {lease:?}", fence.task, fence.epoch),
        )?;
    }
    for write in &batch.writes {
        let writer = match write {
            // The sender of a message may continue the task.
            Write::Spawn(spawn) if spawn.task.spec.terms.continues.is_none() => {
                spawn.task.spec.lineage.parent
            }
            Write::Step(step) => Some(step.task),
            Write::Ask(question) => Some(question.task),
            Write::Arm(timer) => Some(timer.task),
            Write::Append { owner: Owner::Task(task), .. } => Some(*task),
            _ => None,
        };
        if let Some(task) = writer {
            ensure(
                batch.fence.is_some_and(|fence| fence.task == task),
                "S9.1 every write of an attempt carries its epoch",
                || format!("{task} wrote without a fence: {write:?}"),
            )?;
            let lease = shadow.task(task).map(|task| task.lease);
            ensure(
                lease.is_some_and(|lease| lease.worker == by),
                "S9.1 a stale writer is refused",
                || format!("{by:?} wrote for {task}, which is under {lease:?}"),
            )?;
        }
    }
    Ok(())
}
