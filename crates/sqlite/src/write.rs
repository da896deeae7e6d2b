//! Write transactions: batches are checked and written one after another.
//!
//! All preconditions of a batch are checked before its first write, so a conflict leaves
//! nothing to undo and does not affect other batches of the transaction. Preconditions on
//! live data are checked in memory, which is exact because one process holds the directory
//! and one thread writes. All others are checked with SQL.

mod expire;
mod flush;
mod inbox;
mod overlay;
mod owner_data;
mod remove;
mod statements;
mod task;
mod view;
pub(crate) mod writer;

use offshoot_core::{Change, Owner, SessionId, Stamp, Task, TaskId};
use offshoot_store::{Batch, Write, check};
use rusqlite::OptionalExtension;

pub(crate) use self::expire::unread_row;
pub(crate) use self::overlay::Overlay;
pub(crate) use self::statements::Statements;
use crate::error::{BatchError, SqliteError};
use crate::image::StoreImage;
use crate::record;

/// The check of new task ids for duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdCheck {
    /// By the unique index, on insert. A lookup would cost as much as the insert.
    OnInsert,
    /// By a lookup before the insert.
    Lookup,
}

/// A write transaction.
#[derive(Debug)]
pub(crate) struct WriteTransaction<'w, 'c> {
    pub(crate) sql: &'w mut Statements<'c>,
    pub(crate) image: &'w StoreImage,
    pub(crate) overlay: Overlay,
    pub(crate) id_check: IdCheck,
}

impl<'w, 'c> WriteTransaction<'w, 'c> {
    pub(crate) fn new(
        sql: &'w mut Statements<'c>,
        image: &'w StoreImage,
        id_check: IdCheck,
    ) -> Self {
        Self { sql, image, overlay: Overlay::after(image.clock), id_check }
    }

    /// Checks a batch and writes it. A conflict writes nothing. After any other error the
    /// transaction must be rolled back.
    pub(crate) fn batch(&mut self, batch: &Batch) -> Result<(), BatchError> {
        check(batch, self)?;
        for write in &batch.writes {
            self.write(write, batch.at)?;
        }
        Ok(())
    }

    fn write(&mut self, write: &Write, at: Stamp) -> Result<(), SqliteError> {
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

    /// The task and its ordinal, as this transaction sees it.
    pub(crate) fn found(&mut self, id: TaskId) -> Result<Option<(Task, i64)>, SqliteError> {
        if let Some(found) = self.overlay.tasks.get(&id) {
            return Ok(Some(found.clone()));
        }
        let index = &self.image.index;
        if let (Some(task), Some(ordinal)) = (index.task(id), index.ordinal(id)) {
            return Ok(Some((task.clone(), ordinal as i64)));
        }
        let image = self.image;
        let found = self.sql.task.query_row([id.to_bytes()], |row| Ok(record::task(row, image)));
        match found.optional()? {
            None => Ok(None),
            Some(found) => found.map(|(ordinal, task)| Some((task, ordinal))),
        }
    }

    pub(crate) fn task_of(&mut self, id: TaskId) -> Result<Option<Task>, SqliteError> {
        Ok(self.found(id)?.map(|(task, _)| task))
    }

    /// The number of a session, as this transaction sees it.
    pub(crate) fn session_number(&self, id: SessionId) -> Option<i64> {
        let opened = self.overlay.sessions.get(&id).map(|(_, number)| *number);
        opened.or_else(|| self.image.entries.get(&id).map(|entry| entry.number))
    }

    /// The number of an owner in the table of tasks.
    pub(crate) fn owner_number(&mut self, owner: Owner) -> Result<Option<i64>, SqliteError> {
        match owner {
            Owner::Session(id) => Ok(self.session_number(id).map(|number| -number)),
            Owner::Task(id) => Ok(self.found(id)?.map(|(_, ordinal)| ordinal)),
        }
    }

    /// Adds a change to the log of the owner's session, if the owner exists.
    pub(crate) fn record_of(
        &mut self,
        owner: Owner,
        at: Stamp,
        change: Change,
    ) -> Result<(), SqliteError> {
        let (session, task) = match owner {
            Owner::Session(id) => (Some(id), None),
            Owner::Task(id) => (self.task_of(id)?.map(|task| task.spec.lineage.session), Some(id)),
        };
        if let Some(session) = session.filter(|id| self.session_number(*id).is_some()) {
            self.overlay.record(session, task, at, change);
        }
        Ok(())
    }
}
