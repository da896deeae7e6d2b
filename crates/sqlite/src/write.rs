//! One transaction: batches checked and written one after another.
//!
//! Every precondition of a batch is judged before anything of it is written,
//! so a conflict leaves nothing to undo and its neighbours in the transaction
//! go on. What is live is judged from memory, which is exact because one
//! process holds the folder and one thread writes; what is not, from SQL.

mod ahead;
mod check;
mod expire;
mod flush;
mod inbox;
mod notes;
mod remove;
mod statements;
mod task;

use offshoot_core::{Change, Owner, SessionId, Stamp, Task, TaskId};
use offshoot_store::{Batch, Write};
use rusqlite::OptionalExtension;

pub(crate) use self::ahead::Ahead;
pub(crate) use self::expire::unread_row;
pub(crate) use self::statements::Statements;
use crate::error::{Fault, Refusal};
use crate::image::Image;
use crate::record;

/// Whether ids of new tasks are taken to be new until the index objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// They are: a look-up for each would cost as much as the insert.
    Trusting,
    /// They are looked up first.
    Wary,
}

/// A transaction that is being written.
#[derive(Debug)]
pub(crate) struct Writing<'w, 'c> {
    pub(crate) sql: &'w mut Statements<'c>,
    pub(crate) image: &'w Image,
    pub(crate) ahead: Ahead,
    pub(crate) care: Care,
}

impl<'w, 'c> Writing<'w, 'c> {
    pub(crate) fn new(sql: &'w mut Statements<'c>, image: &'w Image, care: Care) -> Self {
        Self { sql, image, ahead: Ahead::after(image.clock), care }
    }

    /// Checks a batch and writes it. After a conflict nothing of it is
    /// written; after a fault the transaction is of no use any more.
    pub(crate) fn batch(&mut self, batch: &Batch) -> Result<(), Refusal> {
        self.check(batch)?;
        for write in &batch.writes {
            self.write(write, batch.at)?;
        }
        Ok(())
    }

    fn write(&mut self, write: &Write, at: Stamp) -> Result<(), Fault> {
        match write {
            Write::Spawn(spawn) => self.spawn(&spawn.task, at),
            Write::Put(task, change) => self.put(task, at, change, None),
            Write::End(end) => self.end(end, at),
            Write::Deliver(row) => self.deliver(row),
            Write::Send { message, to, .. } => self.send(message, *to, at),
            Write::Ack(ack) => self.acknowledge(ack, at),
            Write::OpenSession(session) => self.open_session(session, at),
            Write::PutSession(session, change) => self.put_session(session, at, change),
            Write::Append { owner, blocks } => self.append(*owner, blocks, at),
            Write::Adopt { from, to } => self.adopt(*from, *to),
            Write::Step(step) => self.step(step, at),
            Write::Ask(question) => self.ask(question, at),
            Write::CloseQuestion { task, number, closed } => {
                self.close_question((*task, *number), closed, at)
            }
            Write::Arm(timer) => self.arm(timer),
            Write::Disarm { task, key } => self.disarm(*task, key),
            Write::Count(count) => self.count(count),
        }
    }

    /// The task as this transaction sees it, and its ordinal.
    pub(crate) fn found(&mut self, id: TaskId) -> Result<Option<(Task, i64)>, Fault> {
        if let Some(found) = self.ahead.tasks.get(&id) {
            return Ok(Some(found.clone()));
        }
        let directory = &self.image.directory;
        if let (Some(task), Some(ordinal)) = (directory.task(id), directory.ordinal(id)) {
            return Ok(Some((task.clone(), ordinal as i64)));
        }
        let image = self.image;
        let found = self.sql.task.query_row([id.to_bytes()], |row| Ok(record::task(row, image)));
        match found.optional()? {
            None => Ok(None),
            Some(found) => found.map(|(ordinal, task)| Some((task, ordinal))),
        }
    }

    pub(crate) fn task_of(&mut self, id: TaskId) -> Result<Option<Task>, Fault> {
        Ok(self.found(id)?.map(|(task, _)| task))
    }

    /// The number of a session as this transaction sees it.
    pub(crate) fn session_number(&self, id: SessionId) -> Option<i64> {
        let opened = self.ahead.sessions.get(&id).map(|(_, number)| *number);
        opened.or_else(|| self.image.desks.get(&id).map(|desk| desk.number))
    }

    /// What stands for an owner in the table of tasks.
    pub(crate) fn owner_number(&mut self, owner: Owner) -> Result<Option<i64>, Fault> {
        match owner {
            Owner::Session(id) => Ok(self.session_number(id).map(|number| -number)),
            Owner::Task(id) => Ok(self.found(id)?.map(|(_, ordinal)| ordinal)),
        }
    }

    /// Adds to the log of the session of an owner that is still known.
    pub(crate) fn record_of(
        &mut self,
        owner: Owner,
        at: Stamp,
        change: Change,
    ) -> Result<(), Fault> {
        let (session, task) = match owner {
            Owner::Session(id) => (Some(id), None),
            Owner::Task(id) => (self.task_of(id)?.map(|task| task.spec.lineage.session), Some(id)),
        };
        if let Some(session) = session.filter(|id| self.session_number(*id).is_some()) {
            self.ahead.record(session, task, at, change);
        }
        Ok(())
    }
}
