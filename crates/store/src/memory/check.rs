//! Whether a batch may be applied: every precondition, before any write.

use offshoot_core::{Message, Owner, Session, StepState, TaskId};

use super::inbox::Inbox;
use super::ledger::Ledger;
use crate::batch::{Ack, Batch, Count, End, Fence, Guard, Spawn, Strictness, Write};
use crate::error::Conflict;

impl Ledger {
    pub(super) fn check(&self, batch: &Batch) -> Result<(), Conflict> {
        if let Some(fence) = &batch.fence {
            self.check_fence(fence)?;
        }
        for guard in &batch.guards {
            self.check_guard(guard)?;
        }
        batch.writes.iter().try_for_each(|write| self.check_write(write))
    }

    fn check_fence(&self, fence: &Fence) -> Result<(), Conflict> {
        let task = self.directory.task(fence.task).ok_or(Conflict::NoTask(fence.task))?;
        if task.lease.worker.is_none() || task.lease.epoch != fence.epoch {
            return Err(Conflict::LeaseOver(fence.task));
        }
        Ok(())
    }

    fn check_guard(&self, guard: &Guard) -> Result<(), Conflict> {
        let children = |task: TaskId| self.directory.live_children(task);
        let (of, holds) = match *guard {
            Guard::Childless(task) => (task, children(task) == 0),
            Guard::HasChildren(task) => (task, children(task) > 0),
            Guard::OnlyChild { owner, child } => (owner, self.is_only_child(owner, child)),
            Guard::OwnerStays { owner, child } => {
                let held = self.directory.task(owner).is_some_and(|task| task.is_held());
                (owner, !held || !self.is_only_child(owner, child))
            }
            Guard::Idle(session) => {
                return match self.directory.counts_within(Some(session)).live() {
                    0 => Ok(()),
                    live => Err(Conflict::SessionBusy { session, live }),
                };
            }
        };
        if holds { Ok(()) } else { Err(Conflict::Children(of)) }
    }

    fn is_only_child(&self, owner: TaskId, child: TaskId) -> bool {
        let child = self.directory.task(child);
        child.is_some_and(|child| child.is_live() && child.owner() == Owner::Task(owner))
            && self.directory.live_children(owner) == 1
    }

    fn check_write(&self, write: &Write) -> Result<(), Conflict> {
        match write {
            Write::Spawn(spawn) => self.check_spawn(spawn),
            Write::Put(task, _) | Write::End(End { task, .. }) => {
                match self.directory.task(task.id()) {
                    None => Err(Conflict::NoTask(task.id())),
                    Some(stored) if stored.seq + 1 == task.seq => Ok(()),
                    Some(_) => Err(Conflict::Stale(task.id())),
                }
            }
            Write::Ack(ack) => self.check_ack(ack),
            Write::Send { message, to, room } => self.check_send(*to, message, *room),
            Write::OpenSession(session) => {
                let named = || self.session_named(&session.space, &session.name);
                match self.session(session.id).or_else(named) {
                    Some(found) => Err(Conflict::SessionExists(found.id)),
                    None => Ok(()),
                }
            }
            Write::PutSession(session, _) => match self.session(session.id) {
                None => Err(Conflict::NoSession(session.id)),
                Some(stored) if stored.seq + 1 == session.seq => Ok(()),
                Some(_) => Err(Conflict::StaleSession(session.id)),
            },
            Write::Step(step) => match self.step(step.task, &step.key) {
                Some(StepState::Committed(_)) => {
                    Err(Conflict::StepCommitted(step.task, step.key.clone()))
                }
                _ => Ok(()),
            },
            Write::Ask(question) => {
                let asked = self.questions(question.task).len();
                if asked + 1 == question.number as usize {
                    Ok(())
                } else {
                    Err(Conflict::QuestionClosed(question.task, question.number))
                }
            }
            Write::CloseQuestion { task, number, .. } => {
                let question = self.questions(*task).get((*number as usize).wrapping_sub(1));
                if question.is_some_and(|question| question.closed.is_none()) {
                    Ok(())
                } else {
                    Err(Conflict::QuestionClosed(*task, *number))
                }
            }
            Write::Count(count) => self.check_count(count),
            Write::Deliver(row) => self.check_there(row.owner),
            Write::Append { owner, .. } => self.check_there(*owner),
            Write::Adopt { .. } | Write::Arm(_) | Write::Disarm { .. } => Ok(()),
        }
    }

    /// Whether an owner that is a session is there and stays.
    fn check_there(&self, owner: Owner) -> Result<(), Conflict> {
        match owner {
            Owner::Session(id) if self.session(id).is_none_or(Session::is_removing) => {
                Err(Conflict::NoSession(id))
            }
            _ => Ok(()),
        }
    }

    fn check_spawn(&self, spawn: &Spawn) -> Result<(), Conflict> {
        let (task, spec) = (&spawn.task, &spawn.task.spec);
        if self.directory.task(spec.id).is_some() {
            return Err(Conflict::TaskExists(spec.id));
        }
        let owner = task.owner();
        if let Some(key) = &spec.terms.key
            && let Some(found) = self.directory.keyed(owner, key)
        {
            return Err(Conflict::KeyUsed(found.id()));
        }
        let session = spec.lineage.session;
        let desk = self.sessions.get(&session).ok_or(Conflict::NoSession(session))?;
        if !desk.session.takes_tasks() {
            return Err(Conflict::OwnerClosed(Owner::Session(session)));
        }
        if let Some(parent) = spec.lineage.parent {
            // A detached task, too, needs a parent that may still spawn.
            let open = self.directory.task(parent).is_some_and(|parent| {
                parent.is_live() && !parent.is_held() && parent.cancel.is_none()
            });
            if !open {
                return Err(Conflict::OwnerClosed(Owner::Task(parent)));
            }
            // A cancel on its way down must not be outrun by what is below it.
            let mut above = self.directory.task(parent).and_then(|task| task.spec.ends_with());
            while let Some(task) = above.and_then(|id| self.directory.task(id)) {
                if task.cancel.is_some() {
                    return Err(Conflict::OwnerClosed(Owner::Task(task.id())));
                }
                above = task.spec.ends_with();
            }
        }
        if let Some(found) = self.directory.live_namesake(spec) {
            return Err(Conflict::NameTaken(found.id()));
        }
        let usage = self.directory.usage(owner, session);
        Ok(spawn.caps.admit(task.state.phase(), spec.lineage.depth, usage)?)
    }

    fn check_ack(&self, ack: &Ack) -> Result<(), Conflict> {
        if ack.strictness == Strictness::MayBeGone {
            return Ok(());
        }
        let inbox = self.inboxes.get(&ack.owner);
        match ack.rows.iter().find(|row| !inbox.is_some_and(|inbox| inbox.holds(row))) {
            Some(gone) => Err(Conflict::RowGone(gone.id)),
            None => Ok(()),
        }
    }

    fn check_send(&self, owner: Owner, message: &Message, limit: usize) -> Result<(), Conflict> {
        let inbox = self.inboxes.get(&owner);
        if let Some(sent) = inbox.and_then(|inbox| inbox.sent_before(message)) {
            return Err(match sent.gist == message.gist() {
                true => Conflict::MessageKeyUsed(sent.message),
                false => Conflict::MessageKeyReused(sent.message),
            });
        }
        match owner {
            Owner::Session(_) => self.check_there(owner)?,
            Owner::Task(id) => {
                let task = self.directory.task(id).ok_or(Conflict::NoTask(id))?;
                if !task.is_live() {
                    return Err(Conflict::Ended(id));
                }
            }
        }
        if inbox.map_or(0, Inbox::messages) >= limit {
            return Err(Conflict::InboxFull { owner, limit });
        }
        Ok(())
    }

    fn check_count(&self, count: &Count) -> Result<(), Conflict> {
        self.check_there(count.counter.owner)?;
        let value = self.counter(&count.counter);
        let next = value.checked_add_signed(count.by);
        if next.is_some_and(|next| count.limit.is_none_or(|limit| next <= limit)) {
            return Ok(());
        }
        Err(Conflict::Counter { name: count.counter.name.clone(), value })
    }
}
