//! The rules for the removal of sessions: when it may begin, and that nothing of them is left.

use offshoot_core::{Owner, SessionId, SessionRecord, TaskId};
use offshoot_store::{Memory, Store};

use crate::model::SessionListener;
use crate::model::store_model::{RowFate, StoreModel, TaskPresence};
use crate::violation::{Checked, ensure};

/// Checks a session's next record: if its removal begins, no task of it lives. From then on its
/// contents count as gone.
pub fn check(shadow: &mut StoreModel, session: &SessionRecord) -> Checked {
    let id = session.id;
    if !session.is_removing() {
        return ensure(is_there(shadow, id), "a removal cannot be taken back", || {
            format!("{session:?} is not removed any more")
        });
    }
    let live = shadow.live().find(|known| known.task.spec.lineage.session == id);
    let live = live.map(|known| known.task.id());
    ensure(live.is_none(), "a session with live tasks is not removed", || {
        format!("the removal of {id} began, and {live:?} is live")
    })?;
    shadow.let_go(id);
    Ok(())
}

/// Checks that writes to a session go to one that is not being removed.
pub fn check_there(shadow: &StoreModel, owner: Owner) -> Checked {
    let Owner::Session(id) = owner else { return Ok(()) };
    ensure(is_there(shadow, id), "nothing is written to a session that is removed", || {
        format!("{id} is {:?}", shadow.sessions.get(&id))
    })
}

/// Whether a session exists and is not being removed.
pub fn is_there(shadow: &StoreModel, id: SessionId) -> bool {
    shadow.sessions.get(&id).is_some_and(|session| session.removing.is_none())
}

/// Checks a part of a removal: it deletes only contents of the session, and once the session is
/// gone, nothing of it is left.
pub fn check_removed(
    shadow: &mut StoreModel,
    memory: &Memory,
    id: SessionId,
    deleted: usize,
) -> Checked {
    let known = shadow.sessions.get(&id);
    ensure(
        deleted == 0 || known.is_some_and(SessionRecord::is_removing),
        "only a session that is being removed is removed",
        || format!("{deleted} things of {id} were deleted, and it is {known:?}"),
    )?;
    let stored = |task: TaskId| matches!(memory.task(task).try_now(), Ok(Ok(Some(_))));
    let missing = shadow.order.iter().find(|task| shadow.is_stored(**task) && !stored(**task));
    ensure(missing.is_none(), "a removal touches nothing of another session", || {
        format!("{missing:?} went with {id}")
    })?;
    if matches!(memory.session(id).try_now(), Ok(Ok(Some(_)))) {
        return Ok(());
    }
    check_gone(shadow, memory, id)?;
    shadow.sessions.remove(&id);
    shadow.log.remove(&id);
    Ok(())
}

fn check_gone(shadow: &StoreModel, memory: &Memory, id: SessionId) -> Checked {
    let of_session = shadow.tasks.values().map(|known| &known.task);
    let of_session = of_session.filter(|task| task.spec.lineage.session == id);
    let tasks = of_session.map(|task| Owner::Task(task.id()));
    for owner in tasks.chain([Owner::Session(id)]) {
        let task = match owner {
            Owner::Task(task) => memory.task(task).try_now().ok().and_then(Result::ok).flatten(),
            Owner::Session(_) => None,
        };
        let rows = memory.unread(owner, usize::MAX).try_now();
        let blocks = memory.history(owner, 0, 0).try_now();
        let empty = task.is_none()
            && matches!(rows, Ok(Ok(0)))
            && matches!(blocks, Ok(Ok(page)) if page.total == 0);
        ensure(empty, "nothing of a removed session is left", || {
            format!("{id} is gone, and {owner} is not")
        })?;
    }
    Ok(())
}

/// Checks that no removal was left half done.
pub fn check_over(shadow: &StoreModel) -> Checked {
    let left = shadow.sessions.values().find(|session| session.is_removing());
    ensure(left.is_none(), "recovery finishes an interrupted removal", || {
        format!("nothing can go on, but {left:?} is being removed")
    })
}

/// Checks that a removed session has no listener.
pub fn check_no_listener(
    shadow: &StoreModel,
    listening: &[(SessionId, SessionListener)],
) -> Checked {
    let deaf = listening.iter().find(|(id, _)| !is_there(shadow, *id));
    ensure(deaf.is_none(), "who waits on a session hears that it is removed", || {
        format!("a listener is left at {deaf:?}")
    })
}

impl StoreModel {
    /// Records that everything of a session is deleted.
    fn let_go(&mut self, id: SessionId) {
        let mut owners = vec![Owner::Session(id)];
        for known in self.tasks.values_mut().filter(|known| known.task.spec.lineage.session == id) {
            known.kept = TaskPresence::Removed;
            owners.push(Owner::Task(known.task.id()));
        }
        for owner in owners {
            let unread = self.inboxes.remove(&owner).unwrap_or_default();
            for row in unread.values() {
                if let Some(row) = self.rows.get_mut(row) {
                    row.fate = RowFate::Removed;
                }
            }
        }
    }
}
