//! The rules for spawns.

use offshoot_core::{Caps, Owner, SweepScope, Task};

use crate::model::invariants::removal;
use crate::model::store_model::StoreModel;
use crate::violation::{Checked, ensure};

/// Checks a spawn against the state before it.
pub fn check(shadow: &StoreModel, task: &Task, caps: &Caps) -> Checked {
    let (id, owner) = (task.id(), task.owner());
    if let Some(parent) = task.spec.lineage.parent {
        let open = shadow
            .task(parent)
            .is_some_and(|task| task.is_live() && !task.is_held() && task.cancel.is_none());
        ensure(open, "S6.3 no spawn under an owner that ends or is cancelled", || {
            format!("{id} was spawned under {parent}: {:?}", shadow.task(parent))
        })?;
    }
    let session = task.spec.lineage.session;
    ensure(removal::is_there(shadow, session), "no spawn under a session that is removed", || {
        format!("{id} was spawned under {session}: {:?}", shadow.sessions.get(&session))
    })?;
    let closing = shadow.sessions.get(&session).is_some_and(|session| {
        let mut sweeps = session.sweeps.iter();
        sweeps.any(|sweep| matches!(sweep.reach, SweepScope::Everything | SweepScope::TopLevel))
    });
    ensure(!closing, "S6.3 no spawn under a session that is cancelled", || {
        format!("{id} was spawned under {session}, which is being cancelled")
    })?;
    let namesake = shadow
        .live()
        .map(|known| &known.task)
        .find(|other| other.owner() == owner && other.spec.handle.key() == task.spec.handle.key());
    ensure(namesake.is_none(), "S1.4 a name is unique among the live tasks of one owner", || {
        format!("{id} and {:?} are both called {:?}", namesake.map(Task::id), task.handle())
    })?;
    let (mut of_owner, mut of_session, mut of_space) = (1, 1, 1);
    for other in shadow.live().map(|known| &known.task) {
        of_owner += u64::from(other.owner() == owner);
        of_session += u64::from(other.spec.lineage.session == session);
        of_space += 1;
    }
    let within = |limit: Option<u64>, used: u64| limit.is_none_or(|limit| used <= limit);
    ensure(
        within(caps.live.owner, of_owner)
            && within(caps.live.session, of_session)
            && within(caps.live.space, of_space)
            && task.spec.lineage.depth <= caps.depth,
        "S8.1 caps are never exceeded",
        || format!("{id} is one of {of_owner}/{of_session}/{of_space} live tasks"),
    )?;
    let depth = match task.spec.lineage.parent.and_then(|parent| shadow.task(parent)) {
        Some(parent) => parent.spec.lineage.depth + 1,
        None => 0,
    };
    ensure(task.spec.lineage.depth == depth, "S1.6 depth counts the tasks above", || {
        format!("{id} says {} and stands at {depth}", task.spec.lineage.depth)
    })?;
    let recipient = match owner {
        Owner::Session(of) => of == session,
        Owner::Task(of) => Some(of) == task.spec.lineage.parent,
    };
    ensure(recipient, "S1.6 the owner is the parent task, else the session", || format!("{id}"))
}
