//! Inboxes: rows in the order in which they came, until they are read.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use offshoot_core::{Caller, IdHash, MessageId, MessageState, Owner, Row, RowBody, TaskId};

use super::ledger::Ledger;
use crate::batch::{Ack, RowRef};
use crate::query::Pending;

#[derive(Debug, Default)]
pub(super) struct Inbox {
    rows: BTreeMap<u64, Row>,
    pub(super) messages: usize,
    pub(super) keys: HashMap<Arc<str>, MessageId>,
    returned: HashSet<MessageId, IdHash>,
}

impl Inbox {
    pub(super) fn holds(&self, row: &RowRef) -> bool {
        self.rows.get(&row.number).is_some_and(|found| found.id == row.id)
    }

    fn remove(&mut self, number: u64) -> Option<Row> {
        let row = self.rows.remove(&number)?;
        if matches!(row.body, RowBody::Message(_)) {
            self.messages -= 1;
        }
        Some(row)
    }
}

impl Ledger {
    pub(super) fn deliver(&mut self, row: Row) {
        let number = self.tick();
        self.place(number, row);
    }

    fn place(&mut self, number: u64, row: Row) {
        if let RowBody::Result(task) = row.body {
            self.directory.set_row(task, Some(number));
        }
        let inbox = self.inboxes.entry(row.owner).or_default();
        if let RowBody::Message(message) = &row.body {
            inbox.messages += 1;
            if let Some(key) = &message.key {
                inbox.keys.insert(key.clone(), message.id);
            }
        }
        inbox.rows.insert(number, row);
    }

    /// Takes read rows out; how many there were.
    pub(super) fn acknowledge(&mut self, ack: &Ack) -> u32 {
        let mut read = 0;
        for row in &ack.rows {
            let Some(inbox) = self.inboxes.get_mut(&ack.owner) else { break };
            if !inbox.holds(row) {
                continue;
            }
            let removed = inbox.remove(row.number);
            read += 1;
            if let Some(RowBody::Result(task)) = removed.map(|row| row.body) {
                self.acknowledged(task);
            }
        }
        read
    }

    fn acknowledged(&mut self, task: TaskId) {
        let Some(session) = self.directory.take_row(task) else { return };
        if let Some(desk) = self.sessions.get_mut(&session) {
            desk.acknowledged.push_back(task);
            while let Some(first) = desk.unread.front()
                && self.directory.row(*first).is_none()
            {
                desk.unread.pop_front();
            }
        }
        self.keep_newest(session);
    }

    /// Takes out the unread row of a task that is deleted.
    pub(super) fn drop_row(&mut self, number: u64, task: TaskId) {
        let owner = self.directory.task(task).map(|task| task.owner());
        let direct = owner.and_then(|owner| self.inboxes.get_mut(&owner));
        if direct.is_some_and(|inbox| inbox.remove(number).is_some()) {
            return;
        }
        for inbox in self.inboxes.values_mut() {
            if inbox.remove(number).is_some() {
                return;
            }
        }
    }

    pub(super) fn close_inbox(&mut self, task: TaskId, heir: Owner) {
        let Some(inbox) = self.inboxes.get_mut(&Owner::Task(task)) else { return };
        let rows = std::mem::take(&mut inbox.rows);
        inbox.messages = 0;
        for (number, mut row) in rows {
            if let RowBody::Message(message) = &row.body {
                let message = message.clone();
                if let Some(inbox) = self.inboxes.get_mut(&Owner::Task(task)) {
                    inbox.returned.insert(message.id);
                }
                // Its own inbox closes whatever the order of the batch.
                let sender =
                    self.living(message.from).filter(|sender| *sender != Owner::Task(task));
                let Some(sender) = sender else { continue };
                row.owner = sender;
                row.body = RowBody::Returned(message);
            } else {
                row.owner = heir;
            }
            self.place(number, row);
        }
    }

    /// The owner that a caller is, if it can still read.
    fn living(&self, caller: Caller) -> Option<Owner> {
        caller.as_owner().filter(|owner| match owner {
            Owner::Session(_) => true,
            Owner::Task(id) => self.directory.task(*id).is_some_and(|task| task.is_live()),
        })
    }

    pub(super) fn pending(&self, owner: Owner, after: u64, limit: usize) -> Vec<Pending> {
        let Some(inbox) = self.inboxes.get(&owner) else { return Vec::new() };
        let rows = inbox.rows.range((Bound::Excluded(after), Bound::Unbounded));
        rows.take(limit).map(|(number, row)| self.pending_row(*number, row)).collect()
    }

    pub(super) fn result_row(&self, task: TaskId) -> Option<Pending> {
        let number = self.directory.row(task)?;
        let owner = self.directory.task(task)?.owner();
        let direct = self.inboxes.get(&owner).and_then(|inbox| inbox.rows.get(&number));
        // An owner that ended before it read the row left it to its heir.
        let row =
            direct.or_else(|| self.inboxes.values().find_map(|inbox| inbox.rows.get(&number)))?;
        Some(self.pending_row(number, row))
    }

    fn pending_row(&self, number: u64, row: &Row) -> Pending {
        let task = match row.body {
            RowBody::Result(task) | RowBody::Question { task, .. } => {
                self.directory.task(task).cloned()
            }
            _ => None,
        };
        Pending { number, row: row.clone(), task }
    }

    pub(super) fn message(&self, task: TaskId, message: MessageId) -> Option<MessageState> {
        let inbox = self.inboxes.get(&Owner::Task(task))?;
        if inbox.returned.contains(&message) {
            return Some(MessageState::Returned);
        }
        let queued = inbox.rows.values().any(|row| row.id == message.into());
        queued.then_some(MessageState::Queued)
    }
}
