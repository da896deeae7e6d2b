//! The preconditions of a batch, checked before any of its writes.
//!
//! The rules are the same for every store. A store implements [`StoreView`],
//! which looks up what the rules need, and calls [`check`]. The function is
//! generic, so each store gets its own compiled copy without dynamic dispatch.

use std::borrow::Borrow;

use offshoot_core::{
    CapReached, CapUsage, InboxMessage, MessageFingerprint, MessageId, Owner, RowId, SessionId,
    SessionRecord, Spec, Task, TaskId,
};

use crate::batch::{
    Ack, Batch, Counter, CounterChange, EndWrite, Fence, Guard, RowRef, SpawnWrite, Strictness,
    Write,
};
use crate::error::Conflict;

/// Lookups in the state before a batch.
///
/// Each method answers one question of the rules in [`check`] and decides
/// nothing itself.
pub trait StoreView {
    /// Why a lookup or a check failed.
    type Error: From<Conflict>;

    /// A task that was looked up, borrowed or owned.
    type StoredTask<'view>: Borrow<Task>
    where
        Self: 'view;

    /// The task with this id.
    fn task(&mut self, id: TaskId) -> Result<Option<Self::StoredTask<'_>>, Self::Error>;

    /// Whether a task with this id is known without an expensive lookup.
    fn is_known(&mut self, id: TaskId) -> Result<bool, Self::Error>;

    /// Whether a task with this id is stored. Called after another rule has
    /// refused its spawn, so it may be expensive.
    fn is_stored(&mut self, id: TaskId) -> Result<bool, Self::Error>;

    /// Whether the error is a failed precondition.
    fn is_conflict(error: &Self::Error) -> bool;

    /// The number of live tasks that a task owns.
    fn live_children(&mut self, task: TaskId) -> u64;

    /// The number of live tasks in a session.
    fn live_tasks(&mut self, session: SessionId) -> u64;

    /// The session with this id.
    fn session(&mut self, id: SessionId) -> Option<&SessionRecord>;

    /// The session that has the name of `session` in its space.
    fn session_named(&mut self, session: &SessionRecord) -> Option<SessionId>;

    /// The task that `owner` spawned with this key.
    fn keyed(&mut self, owner: Owner, key: &str) -> Result<Option<TaskId>, Self::Error>;

    /// The live task of the same owner that has the name in `spec`.
    fn live_namesake(&mut self, spec: &Spec) -> Option<TaskId>;

    /// Passes the counts that a new task would add to, and returns the answer.
    fn with_usage(
        &mut self,
        owner: Owner,
        session: SessionId,
        admit: impl FnOnce(CapUsage<'_>) -> Result<(), CapReached>,
    ) -> Result<(), CapReached>;

    /// Whether a value is committed under this key.
    fn is_step_committed(&mut self, task: TaskId, key: &str) -> Result<bool, Self::Error>;

    /// The number of the task's last question; zero before the first.
    fn last_question(&mut self, task: TaskId) -> Result<u32, Self::Error>;

    /// Whether the task has an open question with this number.
    fn is_question_open(&mut self, task: TaskId, number: u32) -> Result<bool, Self::Error>;

    /// The first of these rows that is not pending in the owner's inbox.
    fn missing_row(&mut self, owner: Owner, rows: &[RowRef]) -> Result<Option<RowId>, Self::Error>;

    /// The message that the sender of `message` has sent to `owner` with the
    /// same key.
    fn message_with_key(
        &mut self,
        owner: Owner,
        message: &InboxMessage,
    ) -> Result<Option<SentMessage>, Self::Error>;

    /// The number of unread messages to the owner itself in its inbox.
    fn unread_messages(&mut self, owner: Owner) -> u64;

    /// The value of a counter; zero if it was never changed.
    fn counter(&mut self, counter: &Counter) -> Result<u64, Self::Error>;
}

/// A message that was sent with a key.
#[derive(Clone, Copy, Debug)]
pub struct SentMessage {
    /// Its id.
    pub message: MessageId,
    /// Its fingerprint; `None` if the store does not have it.
    pub fingerprint: Option<MessageFingerprint>,
}

/// Checks every precondition of a batch.
pub fn check<V: StoreView>(batch: &Batch, view: &mut V) -> Result<(), V::Error> {
    if let Some(fence) = &batch.fence {
        check_fence(fence, view)?;
    }
    for guard in &batch.guards {
        check_guard(guard, view)?;
    }
    batch.writes.iter().try_for_each(|write| check_write(write, view))
}

fn check_fence<V: StoreView>(fence: &Fence, view: &mut V) -> Result<(), V::Error> {
    let task = view.task(fence.task)?.ok_or(Conflict::NoTask(fence.task))?;
    let lease = task.borrow().lease;
    if lease.worker.is_none() || lease.epoch != fence.epoch {
        return Err(Conflict::LeaseOver(fence.task).into());
    }
    Ok(())
}

fn check_guard<V: StoreView>(guard: &Guard, view: &mut V) -> Result<(), V::Error> {
    let (task, holds) = match *guard {
        Guard::Childless(task) => (task, view.live_children(task) == 0),
        Guard::HasChildren(task) => (task, view.live_children(task) > 0),
        Guard::OnlyChild { owner, child } => (owner, is_only_child(owner, child, view)?),
        Guard::OwnerStays { owner, child } => {
            let is_held = view.task(owner)?.is_some_and(|task| task.borrow().is_held());
            (owner, !is_held || !is_only_child(owner, child, view)?)
        }
        Guard::Idle(session) => {
            return match view.live_tasks(session) {
                0 => Ok(()),
                live => Err(Conflict::SessionBusy { session, live }.into()),
            };
        }
    };
    if holds { Ok(()) } else { Err(Conflict::Children(task).into()) }
}

fn is_only_child<V: StoreView>(
    owner: TaskId,
    child: TaskId,
    view: &mut V,
) -> Result<bool, V::Error> {
    let is_live_child = view.task(child)?.is_some_and(|child| {
        let child = child.borrow();
        child.is_live() && child.owner() == Owner::Task(owner)
    });
    Ok(is_live_child && view.live_children(owner) == 1)
}

fn check_write<V: StoreView>(write: &Write, view: &mut V) -> Result<(), V::Error> {
    match write {
        Write::Spawn(spawn) => check_spawn(spawn, view),
        Write::Put(task, _) | Write::End(EndWrite { task, .. }) => {
            match view.task(task.id())?.map(|stored| stored.borrow().seq) {
                None => Err(Conflict::NoTask(task.id()).into()),
                Some(stored) if stored + 1 == task.seq => Ok(()),
                Some(_) => Err(Conflict::Stale(task.id()).into()),
            }
        }
        Write::Ack(ack) => check_ack(ack, view),
        Write::Send { message, to, room } => check_send(*to, message, *room, view),
        Write::OpenSession(session) => {
            let id = view.session(session.id).map(|stored| stored.id);
            match id.or_else(|| view.session_named(session)) {
                Some(stored) => Err(Conflict::SessionExists(stored).into()),
                None => Ok(()),
            }
        }
        Write::PutSession(session, _) => match view.session(session.id) {
            None => Err(Conflict::NoSession(session.id).into()),
            Some(stored) if stored.seq + 1 == session.seq => Ok(()),
            Some(_) => Err(Conflict::StaleSession(session.id).into()),
        },
        Write::Step(step) => match view.is_step_committed(step.task, &step.key)? {
            true => Err(Conflict::StepCommitted(step.task, step.key.clone()).into()),
            false => Ok(()),
        },
        Write::Ask(question) => {
            let next = view.last_question(question.task)?.checked_add(1);
            if next == Some(question.number) {
                return Ok(());
            }
            Err(Conflict::QuestionClosed(question.task, question.number).into())
        }
        Write::CloseQuestion { task, number, .. } => {
            if view.is_question_open(*task, *number)? {
                return Ok(());
            }
            Err(Conflict::QuestionClosed(*task, *number).into())
        }
        Write::Count(count) => check_count(count, view),
        Write::Deliver(row) => check_session_open(row.owner, view),
        Write::Append { owner, .. } => check_session_open(*owner, view),
        Write::Adopt { .. } | Write::Arm(_) | Write::Disarm { .. } => Ok(()),
    }
}

/// Refuses an owner that is a missing session or one that is being removed.
fn check_session_open<V: StoreView>(owner: Owner, view: &mut V) -> Result<(), V::Error> {
    match owner {
        Owner::Session(id) if view.session(id).is_none_or(SessionRecord::is_removing) => {
            Err(Conflict::NoSession(id).into())
        }
        _ => Ok(()),
    }
}

fn check_spawn<V: StoreView>(spawn: &SpawnWrite, view: &mut V) -> Result<(), V::Error> {
    let id = spawn.task.id();
    if view.is_known(id)? {
        return Err(Conflict::TaskExists(id).into());
    }
    match admit(spawn, view) {
        // A repeated spawn must be told that it happened, and not that its
        // name is taken by now.
        Err(error) if V::is_conflict(&error) && view.is_stored(id)? => {
            Err(Conflict::TaskExists(id).into())
        }
        result => result,
    }
}

fn admit<V: StoreView>(spawn: &SpawnWrite, view: &mut V) -> Result<(), V::Error> {
    let (task, spec) = (&spawn.task, &spawn.task.spec);
    let owner = task.owner();
    if let Some(key) = &spec.terms.key
        && let Some(found) = view.keyed(owner, key)?
    {
        return Err(Conflict::KeyUsed(found).into());
    }
    let session = spec.lineage.session;
    let stored = view.session(session).ok_or(Conflict::NoSession(session))?;
    if !stored.takes_tasks() {
        return Err(Conflict::OwnerClosed(Owner::Session(session)).into());
    }
    if let Some(parent) = spec.lineage.parent {
        check_ancestors(parent, view)?;
    }
    if let Some(found) = view.live_namesake(spec) {
        return Err(Conflict::NameTaken(found).into());
    }
    let (phase, depth) = (task.state.phase(), spec.lineage.depth);
    let admitted = view.with_usage(owner, session, |usage| spawn.caps.admit(phase, depth, usage));
    admitted.map_err(|reached| Conflict::Cap(reached).into())
}

/// Refuses a parent that may not spawn. A detached task needs one that may, too.
fn check_ancestors<V: StoreView>(parent: TaskId, view: &mut V) -> Result<(), V::Error> {
    let closed = |task| Err(Conflict::OwnerClosed(Owner::Task(task)).into());
    let mut above = match view.task(parent)? {
        Some(task) => {
            let task = task.borrow();
            if !task.is_live() || task.is_held() || task.cancel.is_some() {
                return closed(parent);
            }
            task.spec.ends_with()
        }
        None => return closed(parent),
    };
    // A cancel that is on its way down must reach every task below it.
    while let Some(id) = above {
        let Some(task) = view.task(id)? else { break };
        let task = task.borrow();
        if task.cancel.is_some() {
            return closed(id);
        }
        above = task.spec.ends_with();
    }
    Ok(())
}

fn check_ack<V: StoreView>(ack: &Ack, view: &mut V) -> Result<(), V::Error> {
    if ack.strictness == Strictness::MayBeGone {
        return Ok(());
    }
    match view.missing_row(ack.owner, &ack.rows)? {
        Some(row) => Err(Conflict::RowGone(row).into()),
        None => Ok(()),
    }
}

fn check_send<V: StoreView>(
    owner: Owner,
    message: &InboxMessage,
    limit: usize,
    view: &mut V,
) -> Result<(), V::Error> {
    if message.key.is_some()
        && let Some(sent) = view.message_with_key(owner, message)?
    {
        let is_same = sent.fingerprint.is_none_or(|stored| stored == message.fingerprint());
        return Err(match is_same {
            true => Conflict::MessageKeyUsed(sent.message).into(),
            false => Conflict::MessageKeyReused(sent.message).into(),
        });
    }
    match owner {
        Owner::Session(_) => check_session_open(owner, view)?,
        Owner::Task(id) => {
            let task = view.task(id)?.ok_or(Conflict::NoTask(id))?;
            if !task.borrow().is_live() {
                return Err(Conflict::Ended(id).into());
            }
        }
    }
    if view.unread_messages(owner) >= limit as u64 {
        return Err(Conflict::InboxFull { owner, limit }.into());
    }
    Ok(())
}

fn check_count<V: StoreView>(count: &CounterChange, view: &mut V) -> Result<(), V::Error> {
    check_session_open(count.counter.owner, view)?;
    let value = view.counter(&count.counter)?;
    let next = value.checked_add_signed(count.by);
    if next.is_some_and(|next| count.limit.is_none_or(|limit| next <= limit)) {
        return Ok(());
    }
    Err(Conflict::Counter { name: count.counter.name.clone(), value }.into())
}
