//! Inboxes: rows in the order in which they came, until they are read.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use offshoot_core::{Caller, Gist, IdHash, Message, MessageId, Owner, Row, RowBody, Task, TaskId};
use smallvec::SmallVec;

use super::ledger::Ledger;
use super::rows::Rows;
use crate::batch::{Ack, RowRef};
use crate::query::{Pending, Standing};

#[derive(Debug, Default)]
pub(super) struct Inbox {
    rows: Rows,
    // The messages to the owner itself among the rows, and the number of each.
    messages: HashMap<MessageId, u64, IdHash>,
    // By sender, so that they can go with it.
    keys: HashMap<Caller, HashMap<Arc<str>, Sent>, IdHash>,
    returned: HashSet<MessageId, IdHash>,
}

/// What was sent under a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) message: MessageId,
    pub(super) gist: Gist,
}

impl Inbox {
    pub(super) fn holds(&self, row: &RowRef) -> bool {
        self.rows.get(row.number).is_some_and(|found| found.id == row.id)
    }

    fn take(&mut self, row: &RowRef) -> Option<Row> {
        if self.holds(row) { self.remove(row.number) } else { None }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Row> {
        let row = self.rows.remove(number)?;
        if let RowBody::Message(message) = &row.body {
            self.messages.remove(&message.id);
        }
        Some(row)
    }

    /// How many rows are unread.
    pub(super) fn unread(&self) -> usize {
        self.rows.len()
    }

    /// How many messages to the owner itself are unread.
    pub(super) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Takes note of a message to the owner itself.
    fn note(&mut self, message: &Message, number: u64) {
        self.messages.insert(message.id, number);
        if let Some(key) = &message.key {
            let sent = Sent { message: message.id, gist: message.gist() };
            self.keys.entry(message.from).or_default().insert(key.clone(), sent);
        }
    }

    /// What the sender of a message has sent here under its key.
    pub(super) fn sent_before(&self, message: &Message) -> Option<Sent> {
        let key = message.key.as_ref()?;
        self.keys.get(&message.from)?.get(key).copied()
    }
}

impl Ledger {
    pub(super) fn deliver(&mut self, row: Row) {
        let number = self.tick();
        if let RowBody::Result(task) = row.body {
            self.directory.set_row(task, number);
        }
        let inbox = self.inboxes.entry(row.owner).or_default();
        if let RowBody::Message(message) = &row.body {
            inbox.note(message, number);
        }
        inbox.rows.insert(number, row);
    }

    /// Takes read rows out; how many there were.
    pub(super) fn acknowledge(&mut self, ack: &Ack) -> u32 {
        let Some(inbox) = self.inboxes.get_mut(&ack.owner) else { return 0 };
        let mut count = 0;
        let mut results = SmallVec::<[TaskId; 8]>::new();
        for row in ack.rows.iter().filter_map(|row| inbox.take(row)) {
            count += 1;
            if let RowBody::Result(task) = row.body {
                results.push(task);
            }
        }
        for task in results {
            self.note_read(task);
        }
        count
    }

    /// Takes out the unread row of a task that is deleted.
    pub(super) fn drop_row(&mut self, number: u64, task: TaskId) {
        if let Some(holder) = self.holder(number, task)
            && let Some(inbox) = self.inboxes.get_mut(&holder)
        {
            inbox.remove(number);
        }
    }

    /// In whose inbox the row of a task's end is: its owner's or, once that has
    /// ended, that of somebody above.
    fn holder(&self, number: u64, task: TaskId) -> Option<Owner> {
        let holds = |inbox: &Inbox| inbox.rows.get(number).is_some();
        let mut above = Some(task);
        while let Some(task) = above.and_then(|id| self.directory.task(id)) {
            let owner = task.owner();
            if self.inboxes.get(&owner).is_some_and(holds) {
                return Some(owner);
            }
            above = match owner {
                Owner::Task(id) => Some(id),
                Owner::Session(_) => None,
            };
        }
        // Somebody above was deleted, or the heir is not above at all.
        self.inboxes.iter().find(|(_, inbox)| holds(inbox)).map(|(owner, _)| *owner)
    }

    /// Empties the inbox of a task that ends. A message goes back to a sender
    /// that can still read it; what nobody gets back is the heir's to read. A
    /// message that was sent to somebody else takes no room and uses no key.
    pub(super) fn close_inbox(&mut self, task: TaskId, heir: Owner) {
        let Some(inbox) = self.inboxes.get_mut(&Owner::Task(task)) else { return };
        let rows = inbox.rows.take();
        inbox.messages.clear();
        let messages = rows.iter().filter_map(|(_, row)| match &row.body {
            RowBody::Message(message) => Some(message.id),
            _ => None,
        });
        inbox.returned.extend(messages);
        let mut inherited = Vec::with_capacity(rows.len());
        for (number, mut row) in rows {
            if let RowBody::Message(message) = &row.body
                && let Some(sender) = self.living(message.from)
                // Its own inbox closes whatever the order of the batch.
                && sender != Owner::Task(task)
            {
                row.body = RowBody::Returned(message.clone());
                row.owner = sender;
                self.inboxes.entry(sender).or_default().rows.insert(number, row);
            } else {
                row.owner = heir;
                inherited.push((number, row));
            }
        }
        if !inherited.is_empty() {
            self.inboxes.entry(heir).or_default().rows.absorb(inherited);
        }
    }

    /// The owner that a caller is, if it can still read.
    fn living(&self, caller: Caller) -> Option<Owner> {
        caller.as_owner().filter(|owner| match owner {
            Owner::Session(id) => self.sessions.contains_key(id),
            Owner::Task(id) => self.directory.task(*id).is_some_and(|task| task.is_live()),
        })
    }

    pub(super) fn pending(&self, owner: Owner, after: u64, limit: usize) -> Vec<Pending> {
        let Some(inbox) = self.inboxes.get(&owner) else { return Vec::new() };
        inbox.rows.read(after, limit, |number, row| self.pending_row(number, row))
    }

    pub(super) fn unread(&self, owner: Owner) -> usize {
        self.inboxes.get(&owner).map_or(0, Inbox::unread)
    }

    pub(super) fn result_row(&self, task: TaskId) -> Option<Pending> {
        let number = self.directory.row(task)?;
        let inbox = self.inboxes.get(&self.holder(number, task)?)?;
        let row = inbox.rows.get(number)?;
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

    pub(super) fn message(&self, owner: Owner, message: MessageId) -> Option<Standing> {
        let inbox = self.inboxes.get(&owner)?;
        if inbox.returned.contains(&message) {
            return Some(Standing::Returned);
        }
        inbox.messages.get(&message).copied().map(Standing::Queued)
    }

    /// Drops the keys that a deleted task has used with its owner: nobody else
    /// can use them, and the owner may stay for ever.
    pub(super) fn drop_keys(&mut self, sender: &Task) {
        if let Some(inbox) = self.inboxes.get_mut(&sender.owner()) {
            inbox.keys.remove(&Caller::Task(sender.id()));
        }
    }
}
