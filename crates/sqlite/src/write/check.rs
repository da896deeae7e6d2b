//! Whether a batch may be written: every precondition, before any write.

use offshoot_core::{Message, Owner, Session, SessionId, TaskId, Usage};
use offshoot_store::{Ack, Batch, Conflict, Count, End, Fence, Guard, Spawn, Strictness, Write};
use rusqlite::OptionalExtension;

use super::ahead::Scope;
use super::{Care, Writing};
use crate::codec::id;
use crate::error::{Fault, Refusal};
use crate::record::{column, owner_key};

impl Writing<'_, '_> {
    pub(super) fn check(&mut self, batch: &Batch) -> Result<(), Refusal> {
        if let Some(fence) = &batch.fence {
            self.check_fence(fence)?;
        }
        for guard in &batch.guards {
            self.check_guard(guard)?;
        }
        batch.writes.iter().try_for_each(|write| self.check_write(write))
    }

    fn check_fence(&mut self, fence: &Fence) -> Result<(), Refusal> {
        let task = self.task_of(fence.task)?.ok_or(Conflict::NoTask(fence.task))?;
        if task.lease.worker.is_none() || task.lease.epoch != fence.epoch {
            return Err(Conflict::LeaseOver(fence.task).into());
        }
        Ok(())
    }

    fn check_guard(&mut self, guard: &Guard) -> Result<(), Refusal> {
        let (of, holds) = match *guard {
            Guard::Childless(task) => (task, self.live_children(task) == 0),
            Guard::HasChildren(task) => (task, self.live_children(task) > 0),
            Guard::OnlyChild { owner, child } => (owner, self.is_only_child(owner, child)?),
            Guard::OwnerStays { owner, child } => {
                let held = self.task_of(owner)?.is_some_and(|task| task.is_held());
                (owner, !held || !self.is_only_child(owner, child)?)
            }
            Guard::Idle(session) => {
                return match self.ahead.counts(self.image, Scope::Session(session)).live() {
                    0 => Ok(()),
                    live => Err(Conflict::SessionBusy { session, live }.into()),
                };
            }
        };
        if holds { Ok(()) } else { Err(Conflict::Children(of).into()) }
    }

    fn live_children(&self, task: TaskId) -> u64 {
        self.ahead.counts(self.image, Scope::Owner(Owner::Task(task))).live()
    }

    fn is_only_child(&mut self, owner: TaskId, child: TaskId) -> Result<bool, Fault> {
        let child = self.task_of(child)?;
        Ok(child.is_some_and(|child| child.is_live() && child.owner() == Owner::Task(owner))
            && self.live_children(owner) == 1)
    }

    fn check_write(&mut self, write: &Write) -> Result<(), Refusal> {
        match write {
            Write::Spawn(spawn) => self.check_spawn(spawn),
            Write::Put(task, _) | Write::End(End { task, .. }) => match self.task_of(task.id())? {
                None => Err(Conflict::NoTask(task.id()).into()),
                Some(stored) if stored.seq + 1 == task.seq => Ok(()),
                Some(_) => Err(Conflict::Stale(task.id()).into()),
            },
            Write::Ack(ack) => self.check_ack(ack),
            Write::Send { message, to, room } => self.check_send(*to, message, *room),
            Write::OpenSession(session) => self.check_open(session),
            Write::PutSession(session, _) => match self.session(session.id) {
                None => Err(Conflict::NoSession(session.id).into()),
                Some(stored) if stored.seq + 1 == session.seq => Ok(()),
                Some(_) => Err(Conflict::StaleSession(session.id).into()),
            },
            Write::Step(step) => {
                let key = (step.task.to_bytes(), &*step.key);
                let committed = self.sql.step.query_row(key, |row| row.get::<_, bool>(0));
                match committed.optional()? {
                    Some(true) => Err(Conflict::StepCommitted(step.task, step.key.clone()).into()),
                    _ => Ok(()),
                }
            }
            Write::Ask(question) => {
                let task = question.task.to_bytes();
                let last = self.sql.last_question.query_row([task], |row| row.get(0));
                let last: Option<u32> = last?;
                if last.unwrap_or(0).checked_add(1) == Some(question.number) {
                    Ok(())
                } else {
                    Err(Conflict::QuestionClosed(question.task, question.number).into())
                }
            }
            Write::CloseQuestion { task, number, .. } => {
                let key = (task.to_bytes(), *number);
                let open = self.sql.question_open.query_row(key, |row| row.get::<_, bool>(0));
                match open.optional()? {
                    Some(true) => Ok(()),
                    _ => Err(Conflict::QuestionClosed(*task, *number).into()),
                }
            }
            Write::Count(count) => self.check_count(count),
            Write::Deliver(row) => self.check_there(row.owner),
            Write::Append { owner, .. } => self.check_there(*owner),
            Write::Adopt { .. } | Write::Arm(_) | Write::Disarm { .. } => Ok(()),
        }
    }

    /// Whether an owner that is a session is there and stays.
    fn check_there(&self, owner: Owner) -> Result<(), Refusal> {
        match owner {
            Owner::Session(id) if self.session(id).is_none_or(Session::is_removing) => {
                Err(Conflict::NoSession(id).into())
            }
            _ => Ok(()),
        }
    }

    fn check_spawn(&mut self, spawn: &Spawn) -> Result<(), Refusal> {
        let id = spawn.task.id();
        let known = self.ahead.tasks.contains_key(&id) || self.image.directory.task(id).is_some();
        if known || self.care == Care::Wary && self.is_stored(id)? {
            return Err(Conflict::TaskExists(id).into());
        }
        match self.admit(spawn) {
            // Somebody who repeats a spawn must hear that it happened, not
            // that its name has been taken since.
            Err(Refusal::Conflict(_)) if self.is_stored(id)? => {
                Err(Conflict::TaskExists(id).into())
            }
            other => other,
        }
    }

    fn is_stored(&mut self, id: TaskId) -> Result<bool, Fault> {
        Ok(self.sql.task_exists.exists([id.to_bytes()])?)
    }

    fn admit(&mut self, spawn: &Spawn) -> Result<(), Refusal> {
        let (task, spec) = (&spawn.task, &spawn.task.spec);
        let owner = task.owner();
        if let Some(key) = &spec.terms.key
            && let Some(found) = self.keyed(owner, key)?
        {
            return Err(Conflict::KeyUsed(found).into());
        }
        let session = spec.lineage.session;
        let stored = self.session(session).ok_or(Conflict::NoSession(session))?;
        if !stored.takes_tasks() {
            return Err(Conflict::OwnerClosed(Owner::Session(session)).into());
        }
        if let Some(parent) = spec.lineage.parent {
            // A detached task, too, needs a parent that may still spawn.
            let open = self.task_of(parent)?.is_some_and(|parent| {
                parent.is_live() && !parent.is_held() && parent.cancel.is_none()
            });
            if !open {
                return Err(Conflict::OwnerClosed(Owner::Task(parent)).into());
            }
            // A cancel on its way down must not be outrun by what is below it.
            let mut above = self.task_of(parent)?.and_then(|task| task.spec.ends_with());
            while let Some(id) = above {
                let Some(task) = self.task_of(id)? else { break };
                if task.cancel.is_some() {
                    return Err(Conflict::OwnerClosed(Owner::Task(id)).into());
                }
                above = task.spec.ends_with();
            }
        }
        if let Some(found) = self.ahead.live_named(self.image, owner, spec.handle.key()) {
            return Err(Conflict::NameTaken(found).into());
        }
        let usage = Usage {
            owner: &self.ahead.counts(self.image, Scope::Owner(owner)),
            session: &self.ahead.counts(self.image, Scope::Session(session)),
            space: &self.ahead.counts(self.image, Scope::Everything),
        };
        let admitted = spawn.caps.admit(task.state.phase(), spec.lineage.depth, usage);
        admitted.map_err(|reached| Conflict::Cap(reached).into())
    }

    fn keyed(&mut self, owner: Owner, key: &str) -> Result<Option<TaskId>, Fault> {
        let Some(owner) = self.owner_number(owner)? else { return Ok(None) };
        let found = self.sql.keyed.query_row((owner, key), |row| row.get::<_, [u8; 16]>(0));
        let found = found.optional()?;
        Ok(found.map(|found| id(found, TaskId::from_bytes)).transpose()?)
    }

    fn session(&self, id: SessionId) -> Option<&Session> {
        let changed = self.ahead.sessions.get(&id).map(|(session, _)| session);
        changed.or_else(|| self.image.session(id))
    }

    fn check_open(&self, session: &Session) -> Result<(), Refusal> {
        let named = || {
            self.ahead.session_named(session).or_else(|| {
                self.image.session_named(&session.space, &session.name).map(|found| found.id)
            })
        };
        let used = self.session(session.id).map(|found| found.id).or_else(named);
        used.map_or(Ok(()), |found| Err(Conflict::SessionExists(found).into()))
    }

    fn check_ack(&mut self, ack: &Ack) -> Result<(), Refusal> {
        if ack.strictness == Strictness::MayBeGone {
            return Ok(());
        }
        let owner = owner_key(ack.owner);
        for row in &ack.rows {
            let key = (owner, column(row.number));
            let found = self.sql.row.query_row(key, |found| found.get::<_, [u8; 16]>(0));
            if found.optional()? != Some(row.id.to_bytes()) {
                return Err(Conflict::RowGone(row.id).into());
            }
        }
        Ok(())
    }

    fn check_send(&mut self, owner: Owner, message: &Message, limit: usize) -> Result<(), Refusal> {
        if let Some((sent, gist)) = self.sent_before(owner, message)? {
            return Err(match gist.is_none_or(|gist| gist == message.gist()) {
                true => Conflict::MessageKeyUsed(sent).into(),
                false => Conflict::MessageKeyReused(sent).into(),
            });
        }
        match owner {
            Owner::Session(_) => self.check_there(owner)?,
            Owner::Task(id) => {
                let stored = self.task_of(id)?.ok_or(Conflict::NoTask(id))?;
                if !stored.is_live() {
                    return Err(Conflict::Ended(id).into());
                }
            }
        }
        if self.mail(owner).messages >= limit as u64 {
            return Err(Conflict::InboxFull { owner, limit }.into());
        }
        Ok(())
    }

    fn check_count(&mut self, count: &Count) -> Result<(), Refusal> {
        self.check_there(count.counter.owner)?;
        let value = self.counter(&count.counter)?;
        let next = value.checked_add_signed(count.by);
        if next.is_some_and(|next| count.limit.is_none_or(|limit| next <= limit)) {
            return Ok(());
        }
        Err(Conflict::Counter { name: count.counter.name.clone(), value }.into())
    }
}
