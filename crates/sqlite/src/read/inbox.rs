//! Reads of inboxes.

use offshoot_core::{MessageId, Owner, RowBody, TaskId};
use offshoot_store::{MessagePosition, PendingRow};
use rusqlite::OptionalExtension;

use super::at_most;
use crate::codec::decode_row;
use crate::error::SqliteError;
use crate::read::FileSnapshot;
use crate::record::{blob, column, owner_id, owner_key};
use crate::write::unread_row;

impl FileSnapshot<'_> {
    pub(crate) fn inbox(
        &self,
        owner: Owner,
        after: u64,
        limit: usize,
    ) -> Result<Vec<PendingRow>, SqliteError> {
        let mut select = self.connection.prepare_cached(
            "SELECT number, row FROM inbox WHERE owner = ?1 AND number > ?2 \
             ORDER BY number LIMIT ?3",
        )?;
        let key = owner_key(owner);
        let mut rows = select.query((key, column(after), at_most(limit)))?;
        let mut pending = Vec::new();
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            pending.push(self.pending(number, blob(row, 1)?, &key)?);
        }
        Ok(pending)
    }

    pub(crate) fn unread(&self, owner: Owner, limit: usize) -> Result<usize, SqliteError> {
        let mut count = self.connection.prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM inbox WHERE owner = ?1 LIMIT ?2)",
        )?;
        let key = (owner_key(owner), at_most(limit));
        let rows: i64 = count.query_row(key, |row| row.get(0))?;
        Ok(rows as usize)
    }

    pub(crate) fn result_row(&self, task: TaskId) -> Result<Option<PendingRow>, SqliteError> {
        let Some(task) = self.task(task)? else { return Ok(None) };
        let Some((owner, number)) = unread_row(self.connection, &task)? else { return Ok(None) };
        let mut select = self
            .connection
            .prepare_cached("SELECT row FROM inbox WHERE owner = ?1 AND number = ?2")?;
        let mut rows = select.query((&owner, number))?;
        match rows.next()? {
            None => Ok(None),
            Some(row) => self.pending(number, blob(row, 0)?, &owner).map(Some),
        }
    }

    pub(crate) fn message(
        &self,
        owner: Owner,
        message: MessageId,
    ) -> Result<Option<MessagePosition>, SqliteError> {
        if let Owner::Task(task) = owner {
            let mut returned = self
                .connection
                .prepare_cached("SELECT 1 FROM returned WHERE task = ?1 AND message = ?2")?;
            if returned.exists((task.to_bytes(), message.to_bytes()))? {
                return Ok(Some(MessagePosition::Returned));
            }
        }
        let mut queued = self.connection.prepare_cached(
            "SELECT number FROM inbox INDEXED BY inbox_messages \
             WHERE owner = ?1 AND id = ?2 AND message = 1",
        )?;
        let key = (owner_key(owner), message.to_bytes());
        let number = queued.query_row(key, |row| row.get::<_, i64>(0)).optional()?;
        Ok(number.map(|number| MessagePosition::Queued(number as u64)))
    }

    fn pending(&self, number: i64, row: &[u8], owner: &[u8]) -> Result<PendingRow, SqliteError> {
        let row = decode_row(row, owner_id(owner)?)?;
        let task = match row.body {
            RowBody::Result(task) | RowBody::Question { task, .. } => {
                let known = self.shared.image.read().index.task(task).cloned();
                match known {
                    // The image may be newer than the snapshot, and is never older.
                    Some(known) => Some(known),
                    None => self.task(task)?,
                }
            }
            _ => None,
        };
        Ok(PendingRow { number: number as u64, row, task })
    }
}
