//! Writes to inboxes.

use std::sync::Arc;

use offshoot_core::{Caller, Change, InboxMessage, Owner, Row, RowBody, Stamp, TaskId};
use offshoot_store::{Ack, EndWrite};
use rusqlite::OptionalExtension;

use super::WriteTransaction;
use crate::codec::{decode_row, encode_row};
use crate::error::SqliteError;
use crate::image::{ImageChange, UnreadCounts};
use crate::record::{column, owner_id, owner_key, sender_key};

/// Whether a row counts against the inbox limit, as messages to the owner do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitUse {
    Counted,
    Exempt,
}

impl WriteTransaction<'_, '_> {
    /// The unread counts of an inbox.
    pub(super) fn unread_counts(&self, owner: Owner) -> UnreadCounts {
        let changed = self.overlay.unread.get(&owner);
        changed.or_else(|| self.image.unread.get(&owner)).copied().unwrap_or_default()
    }

    fn set_unread(&mut self, owner: Owner, unread: UnreadCounts) {
        self.overlay.unread.insert(owner, unread);
        self.overlay.image_changes.push(ImageChange::Unread(owner, unread));
    }

    pub(super) fn deliver(&mut self, row: &Row) -> Result<(), SqliteError> {
        let number = self.overlay.tick();
        let limit_use = match &row.body {
            RowBody::Message(message) => {
                self.put_key(row.owner, message)?;
                LimitUse::Counted
            }
            RowBody::Result(task) => {
                self.sql.told.execute((task.to_bytes(), column(number)))?;
                LimitUse::Exempt
            }
            RowBody::Returned(_) | RowBody::Question { .. } => LimitUse::Exempt,
        };
        self.place(number, row, limit_use)
    }

    fn put_key(&mut self, owner: Owner, message: &InboxMessage) -> Result<(), SqliteError> {
        let Some(key) = &message.key else { return Ok(()) };
        let (sender, gist) = (sender_key(message.from), message.fingerprint().to_bytes());
        let sent = (owner_key(owner), sender, &**key, message.id.to_bytes(), gist);
        self.sql.put_message_key.execute(sent)?;
        Ok(())
    }

    /// Writes the end of a task. The row number is assigned first, so that one statement
    /// writes the task and the number.
    pub(super) fn end(&mut self, end: &EndWrite, at: Stamp) -> Result<(), SqliteError> {
        let (id, number) = (end.task.id(), self.overlay.tick());
        self.put(&end.task, at, &end.change, Some(number))?;
        self.close_inbox(id, end.recipient)?;
        if end.recipient != end.task.owner() {
            self.sql.put_moved.execute((column(number), owner_key(end.recipient)))?;
        }
        self.place(number, &Row::result(id, end.recipient, at), LimitUse::Exempt)
    }

    pub(super) fn send(
        &mut self,
        message: &Arc<InboxMessage>,
        to: Owner,
        at: Stamp,
    ) -> Result<(), SqliteError> {
        self.deliver(&Row::message(message.clone(), to))?;
        self.record_of(to, at, Change::MessageQueued(message.id))
    }

    fn place(&mut self, number: u64, row: &Row, limit_use: LimitUse) -> Result<(), SqliteError> {
        let counted = limit_use == LimitUse::Counted;
        self.sql.put_row.execute((
            owner_key(row.owner),
            column(number),
            row.id.to_bytes(),
            encode_row(row),
            counted,
        ))?;
        // Of a session only messages are counted, because its inbox never closes.
        if counted || matches!(row.owner, Owner::Task(_)) {
            let mut unread = self.unread_counts(row.owner);
            unread.rows += 1;
            unread.messages += u64::from(counted);
            self.set_unread(row.owner, unread);
        }
        if let RowBody::Result(task) = row.body {
            self.overlay.image_changes.push(ImageChange::ResultRow {
                task,
                number,
                row: row.clone(),
            });
        }
        Ok(())
    }

    pub(super) fn acknowledge(&mut self, ack: &Ack, at: Stamp) -> Result<(), SqliteError> {
        let owner = owner_key(ack.owner);
        let mut read = 0;
        for row in &ack.rows {
            let left = self.unread_without(ack.owner, row.number)?;
            if self.sql.ack.execute((owner, column(row.number), row.id.to_bytes()))? == 0 {
                continue;
            }
            if let Some(left) = left {
                self.set_unread(ack.owner, left);
            }
            read += 1;
            let task = row.id.as_task();
            self.overlay.image_changes.push(ImageChange::ResultRead { task, number: row.number });
        }
        if read == 0 {
            return Ok(());
        }
        self.record_of(ack.owner, at, Change::Acknowledged { rows: read })
    }

    /// The unread counts after the row with this number is read, if the row is counted.
    fn unread_without(
        &mut self,
        owner: Owner,
        number: u64,
    ) -> Result<Option<UnreadCounts>, SqliteError> {
        let UnreadCounts { rows, messages } = self.unread_counts(owner);
        // Nothing is counted, so no lookup is needed.
        if rows == 0 {
            return Ok(None);
        }
        let key = (owner_key(owner), column(number));
        let found = self.sql.row.query_row(key, |row| row.get::<_, bool>(1)).optional()?;
        let counted = found.filter(|message| *message || matches!(owner, Owner::Task(_)));
        Ok(counted.map(|message| UnreadCounts {
            rows: rows.saturating_sub(1),
            messages: messages.saturating_sub(u64::from(message)),
        }))
    }

    /// Empties the inbox of a task that ends.
    ///
    /// A message goes back to its sender if the sender can still read. All other rows move
    /// to the recipient, where they do not count against the limit and use no key.
    pub(super) fn close_inbox(
        &mut self,
        task: TaskId,
        recipient: Owner,
    ) -> Result<(), SqliteError> {
        // Most tasks end without unread rows, which the image knows.
        let of = Owner::Task(task);
        if self.unread_counts(of).rows == 0 {
            return Ok(());
        }
        let owner = owner_key(of);
        let rows = self.unread_rows(owner)?;
        self.sql.empty_inbox.execute([owner])?;
        self.set_unread(of, UnreadCounts::default());
        for (number, mut row) in rows {
            row.owner = recipient;
            match &row.body {
                RowBody::Message(message) => {
                    self.sql.put_returned.execute((task.to_bytes(), message.id.to_bytes()))?;
                    // The task's own inbox closes regardless of the order in the batch.
                    if let Some(sender) = self.living(message.from)?.filter(|sender| *sender != of)
                    {
                        row.body = RowBody::Returned(message.clone());
                        row.owner = sender;
                    }
                }
                RowBody::Result(_) => {
                    self.sql.put_moved.execute((column(number), owner_key(recipient)))?;
                }
                RowBody::Returned(_) | RowBody::Question { .. } => {}
            }
            self.place(number, &row, LimitUse::Exempt)?;
        }
        Ok(())
    }

    fn unread_rows(&mut self, owner: [u8; 17]) -> Result<Vec<(u64, Row)>, SqliteError> {
        let mut found = self.sql.rows.query([owner])?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let number: i64 = row.get(0)?;
            rows.push((
                number as u64,
                decode_row(crate::record::blob(row, 1)?, owner_id(&owner)?)?,
            ));
        }
        Ok(rows)
    }

    /// The caller as an owner, if it can still read.
    fn living(&mut self, caller: Caller) -> Result<Option<Owner>, SqliteError> {
        Ok(match caller.as_owner() {
            Some(Owner::Task(id)) if !self.task_of(id)?.is_some_and(|task| task.is_live()) => None,
            Some(Owner::Session(id)) if self.session_number(id).is_none() => None,
            owner => owner,
        })
    }
}
