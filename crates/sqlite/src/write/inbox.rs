//! Inboxes, written.

use std::sync::Arc;

use offshoot_core::{Caller, Change, Gist, Message, MessageId, Owner, Row, RowBody, Stamp, TaskId};
use offshoot_store::{Ack, End};
use rusqlite::OptionalExtension;

use super::Writing;
use crate::codec::{decode_row, encode_row, id};
use crate::error::Fault;
use crate::image::{Mail, Op};
use crate::record::{column, owner_id, owner_key, sender_key};

/// Whether a row takes room in its inbox, as messages to its owner do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Taken,
    Free,
}

impl Writing<'_, '_> {
    /// What is unread in an inbox.
    pub(super) fn mail(&self, owner: Owner) -> Mail {
        let changed = self.ahead.mail.get(&owner);
        changed.or_else(|| self.image.mail.get(&owner)).copied().unwrap_or_default()
    }

    fn set_mail(&mut self, owner: Owner, mail: Mail) {
        self.ahead.mail.insert(owner, mail);
        self.ahead.ops.push(Op::Mail(owner, mail));
    }

    /// What the sender of a message has sent to `owner` under its key.
    pub(super) fn sent_before(
        &mut self,
        owner: Owner,
        message: &Message,
    ) -> Result<Option<(MessageId, Option<Gist>)>, Fault> {
        let Some(key) = &message.key else { return Ok(None) };
        let key = (owner_key(owner), sender_key(message.from), &**key);
        let found = self.sql.message_key.query_row(key, |row| {
            Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, Option<[u8; 16]>>(1)?))
        });
        let Some((sent, gist)) = found.optional()? else { return Ok(None) };
        Ok(Some((id(sent, MessageId::from_bytes)?, gist.map(Gist::from_bytes))))
    }

    pub(super) fn deliver(&mut self, row: &Row) -> Result<(), Fault> {
        let number = self.ahead.tick();
        let room = match &row.body {
            RowBody::Message(message) => {
                self.put_key(row.owner, message)?;
                Room::Taken
            }
            RowBody::Result(task) => {
                self.sql.told.execute((task.to_bytes(), column(number)))?;
                Room::Free
            }
            RowBody::Returned(_) | RowBody::Question { .. } => Room::Free,
        };
        self.place(number, row, room)
    }

    fn put_key(&mut self, owner: Owner, message: &Message) -> Result<(), Fault> {
        let Some(key) = &message.key else { return Ok(()) };
        let (sender, gist) = (sender_key(message.from), message.gist().to_bytes());
        let sent = (owner_key(owner), sender, &**key, message.id.to_bytes(), gist);
        self.sql.put_message_key.execute(sent)?;
        Ok(())
    }

    /// Writes the end of a task. The number of the row about it is taken
    /// first, so that one statement writes both.
    pub(super) fn end(&mut self, end: &End, at: Stamp) -> Result<(), Fault> {
        let (id, number) = (end.task.id(), self.ahead.tick());
        self.put(&end.task, at, &end.change, Some(number))?;
        self.close_inbox(id, end.heir)?;
        if end.heir != end.task.owner() {
            self.sql.put_moved.execute((column(number), owner_key(end.heir)))?;
        }
        self.place(number, &Row::result(id, end.heir, at), Room::Free)
    }

    pub(super) fn send(
        &mut self,
        message: &Arc<Message>,
        to: Owner,
        at: Stamp,
    ) -> Result<(), Fault> {
        self.deliver(&Row::message(message.clone(), to))?;
        self.record_of(to, at, Change::MessageQueued(message.id))
    }

    fn place(&mut self, number: u64, row: &Row, room: Room) -> Result<(), Fault> {
        let counted = room == Room::Taken;
        self.sql.put_row.execute((
            owner_key(row.owner),
            column(number),
            row.id.to_bytes(),
            encode_row(row),
            counted,
        ))?;
        // Of a session only messages are counted: its inbox never closes.
        if counted || matches!(row.owner, Owner::Task(_)) {
            let mut mail = self.mail(row.owner);
            mail.rows += 1;
            mail.messages += u64::from(counted);
            self.set_mail(row.owner, mail);
        }
        if let RowBody::Result(task) = row.body {
            self.ahead.ops.push(Op::Told { task, number, row: row.clone() });
        }
        Ok(())
    }

    pub(super) fn acknowledge(&mut self, ack: &Ack, at: Stamp) -> Result<(), Fault> {
        let owner = owner_key(ack.owner);
        let mut read = 0;
        for row in &ack.rows {
            let left = self.mail_without(ack.owner, row.number)?;
            if self.sql.ack.execute((owner, column(row.number), row.id.to_bytes()))? == 0 {
                continue;
            }
            if let Some(left) = left {
                self.set_mail(ack.owner, left);
            }
            read += 1;
            let task = row.id.as_task();
            self.ahead.ops.push(Op::Read { task, number: row.number });
        }
        if read == 0 {
            return Ok(());
        }
        self.record_of(ack.owner, at, Change::Acknowledged { rows: read })
    }

    /// What is unread once the row of this number is read, if it is counted.
    fn mail_without(&mut self, owner: Owner, number: u64) -> Result<Option<Mail>, Fault> {
        let Mail { rows, messages } = self.mail(owner);
        // Where nothing is counted there is nothing to look up.
        if rows == 0 {
            return Ok(None);
        }
        let key = (owner_key(owner), column(number));
        let found = self.sql.row.query_row(key, |row| row.get::<_, bool>(1)).optional()?;
        let counted = found.filter(|message| *message || matches!(owner, Owner::Task(_)));
        Ok(counted.map(|message| Mail {
            rows: rows.saturating_sub(1),
            messages: messages.saturating_sub(u64::from(message)),
        }))
    }

    /// Empties the inbox of a task that ends. A message goes back to a sender
    /// that can still read it; what nobody gets back is the heir's to read,
    /// where it takes no room and uses no key.
    pub(super) fn close_inbox(&mut self, task: TaskId, heir: Owner) -> Result<(), Fault> {
        // Most tasks end with nothing unread, which memory knows.
        let of = Owner::Task(task);
        if self.mail(of).rows == 0 {
            return Ok(());
        }
        let owner = owner_key(of);
        let rows = self.unread(owner)?;
        self.sql.empty_inbox.execute([owner])?;
        self.set_mail(of, Mail::default());
        for (number, mut row) in rows {
            row.owner = heir;
            match &row.body {
                RowBody::Message(message) => {
                    self.sql.put_returned.execute((task.to_bytes(), message.id.to_bytes()))?;
                    // Its own inbox closes whatever the order of the batch.
                    if let Some(sender) = self.living(message.from)?.filter(|sender| *sender != of)
                    {
                        row.body = RowBody::Returned(message.clone());
                        row.owner = sender;
                    }
                }
                RowBody::Result(_) => {
                    self.sql.put_moved.execute((column(number), owner_key(heir)))?;
                }
                RowBody::Returned(_) | RowBody::Question { .. } => {}
            }
            self.place(number, &row, Room::Free)?;
        }
        Ok(())
    }

    fn unread(&mut self, owner: [u8; 17]) -> Result<Vec<(u64, Row)>, Fault> {
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

    /// The owner that a caller is, if it can still read.
    fn living(&mut self, caller: Caller) -> Result<Option<Owner>, Fault> {
        Ok(match caller.as_owner() {
            Some(Owner::Task(id)) if !self.task_of(id)?.is_some_and(|task| task.is_live()) => None,
            Some(Owner::Session(id)) if self.session_number(id).is_none() => None,
            owner => owner,
        })
    }
}
