//! Cancels of several tasks at once: the tasks that each must reach, from the commit that makes
//! it durable to the one that reports it as done.

use offshoot_core::{SessionId, SessionRecord, Sweep, SweepScope, Task, TaskId, Tie};

use crate::model::store_model::StoreModel;
use crate::violation::{Checked, ensure};

/// A sweep that has begun, and the tasks it must reach.
#[derive(Debug)]
pub struct SweepStart {
    session: SessionId,
    sweep: Sweep,
    due: Vec<TaskId>,
}

/// Checks a session's next record: a sweep that is no longer in it has reached all its tasks.
/// `shadow` has the record before.
pub fn check(shadow: &mut StoreModel, session: &SessionRecord) -> Checked {
    let before = shadow.sessions.get(&session.id);
    let begun: Vec<_> = session
        .sweeps
        .iter()
        .filter(|sweep| !before.is_some_and(|before| before.sweeps.contains(sweep)))
        .map(|sweep| SweepStart {
            session: session.id,
            sweep: sweep.clone(),
            due: due(shadow, session.id, sweep.reach),
        })
        .collect();
    let mut over = Vec::new();
    let (of, sweeps) = (session.id, &session.sweeps);
    shadow.sweeps.retain_mut(|one| {
        let stays = one.session != of || sweeps.contains(&one.sweep);
        if !stays {
            over.append(&mut one.due);
        }
        stays
    });
    shadow.sweeps.extend(begun);
    let missed = over.into_iter().filter_map(|id| shadow.task(id));
    let missed = missed.filter(|task| task.is_live() && task.cancel.is_none()).map(Task::id).next();
    ensure(missed.is_none(), "S6.5 a cancel of many reaches them all", || {
        format!("a sweep of {of} is over and has not reached {missed:?}")
    })
}

/// The live tasks that a sweep beginning now must reach.
fn due(shadow: &StoreModel, session: SessionId, reach: SweepScope) -> Vec<TaskId> {
    let of_session = shadow.live().map(|known| &known.task);
    let of_session = of_session.filter(|task| task.spec.lineage.session == session);
    let (all, starts): (Vec<&Task>, Vec<&Task>) =
        of_session.partition(|_| reach == SweepScope::Everything);
    let mut due: Vec<TaskId> = all.iter().map(|task| task.id()).collect();
    for task in starts {
        let lineage = &task.spec.lineage;
        let starts_here = match reach {
            SweepScope::Everything => false,
            SweepScope::TopLevel => lineage.parent.is_none(),
            SweepScope::Run(run) => lineage.origin.run == Some(run),
            SweepScope::ChildrenOf(parent) => lineage.parent == Some(parent),
        };
        if starts_here && task.spec.tie == Tie::Owned {
            due.push(task.id());
            due.extend(shadow.live_below(task.id()).into_iter().map(Task::id));
        }
    }
    due
}

/// Checks that no cancel was left half done.
pub fn check_over(shadow: &StoreModel) -> Checked {
    let left = shadow.sessions.values().find(|session| !session.sweeps.is_empty());
    ensure(left.is_none(), "S6.4 recovery finishes an interrupted cascade", || {
        format!("nothing can go on, but {left:?} is being cancelled")
    })
}
