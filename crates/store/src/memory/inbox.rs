//! Inboxes: unread rows in the order of their arrival.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use offshoot_core::{Caller, IdHash, InboxMessage, MessageId, Owner, Row, RowBody, Task, TaskId};
use smallvec::SmallVec;

use super::row_queue::RowQueue;
use super::state::MemoryState;
use crate::batch::{Ack, RowRef};
use crate::check::SentMessage;
use crate::query::{MessagePosition, PendingRow};

#[derive(Debug, Default)]
pub(super) struct Inbox {
    rows: RowQueue,
    // The numbers of the messages to the owner itself.
    messages: HashMap<MessageId, u64, IdHash>,
    // By sender, so that they can be deleted with the sender.
    keys: HashMap<Caller, HashMap<Arc<str>, SentMessage>, IdHash>,
    returned: HashSet<MessageId, IdHash>,
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

    /// The number of unread rows.
    pub(super) fn unread(&self) -> usize {
        self.rows.len()
    }

    /// The number of unread messages to the owner itself.
    pub(super) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Registers a message to the owner itself.
    fn note(&mut self, message: &InboxMessage, number: u64) {
        self.messages.insert(message.id, number);
        if let Some(key) = &message.key {
            let fingerprint = Some(message.fingerprint());
            let sent = SentMessage { message: message.id, fingerprint };
            self.keys.entry(message.from).or_default().insert(key.clone(), sent);
        }
    }

    /// The message that the sender of `message` has sent here with the same key.
    pub(super) fn message_with_key(&self, message: &InboxMessage) -> Option<SentMessage> {
        let key = message.key.as_ref()?;
        self.keys.get(&message.from)?.get(key).copied()
    }
}

impl MemoryState {
    pub(super) fn deliver(&mut self, row: Row) {
        let number = self.tick();
        if let RowBody::Result(task) = row.body {
            self.index.set_row(task, number);
        }
        let inbox = self.inboxes.entry(row.owner).or_default();
        if let RowBody::Message(message) = &row.body {
            inbox.note(message, number);
        }
        inbox.rows.insert(number, row);
    }

    /// Removes acknowledged rows and returns their number.
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

    /// Removes the unread result row of a deleted task.
    pub(super) fn drop_row(&mut self, number: u64, task: TaskId) {
        if let Some(holder) = self.holder(number, task)
            && let Some(inbox) = self.inboxes.get_mut(&holder)
        {
            inbox.remove(number);
        }
    }

    /// The owner of the inbox with a task's result row: the task's owner or, if that has
    /// ended, an owner further up.
    fn holder(&self, number: u64, task: TaskId) -> Option<Owner> {
        let holds = |inbox: &Inbox| inbox.rows.get(number).is_some();
        let mut above = Some(task);
        while let Some(task) = above.and_then(|id| self.index.task(id)) {
            let owner = task.owner();
            if self.inboxes.get(&owner).is_some_and(holds) {
                return Some(owner);
            }
            above = match owner {
                Owner::Task(id) => Some(id),
                Owner::Session(_) => None,
            };
        }
        // An owner further up was deleted, or the recipient is not an ancestor.
        self.inboxes.iter().find(|(_, inbox)| holds(inbox)).map(|(owner, _)| *owner)
    }

    /// Empties the inbox of a task that ends.
    ///
    /// A message goes back to its sender if the sender can still read. All other rows move
    /// to the recipient. A message to another owner does not count against the inbox limit
    /// and uses no key.
    pub(super) fn close_inbox(&mut self, task: TaskId, recipient: Owner) {
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
                // The task's own inbox closes regardless of the order in the batch.
                && sender != Owner::Task(task)
            {
                row.body = RowBody::Returned(message.clone());
                row.owner = sender;
                self.inboxes.entry(sender).or_default().rows.insert(number, row);
            } else {
                row.owner = recipient;
                inherited.push((number, row));
            }
        }
        if !inherited.is_empty() {
            self.inboxes.entry(recipient).or_default().rows.absorb(inherited);
        }
    }

    /// The caller as an owner, if it can still read.
    fn living(&self, caller: Caller) -> Option<Owner> {
        caller.as_owner().filter(|owner| match owner {
            Owner::Session(id) => self.sessions.contains_key(id),
            Owner::Task(id) => self.index.task(*id).is_some_and(|task| task.is_live()),
        })
    }

    pub(super) fn pending(&self, owner: Owner, after: u64, limit: usize) -> Vec<PendingRow> {
        let Some(inbox) = self.inboxes.get(&owner) else { return Vec::new() };
        inbox.rows.read(after, limit, |number, row| self.pending_row(number, row))
    }

    pub(super) fn unread(&self, owner: Owner) -> usize {
        self.inboxes.get(&owner).map_or(0, Inbox::unread)
    }

    pub(super) fn result_row(&self, task: TaskId) -> Option<PendingRow> {
        let number = self.index.row(task)?;
        let inbox = self.inboxes.get(&self.holder(number, task)?)?;
        let row = inbox.rows.get(number)?;
        Some(self.pending_row(number, row))
    }

    fn pending_row(&self, number: u64, row: &Row) -> PendingRow {
        let task = match row.body {
            RowBody::Result(task) | RowBody::Question { task, .. } => {
                self.index.task(task).cloned()
            }
            _ => None,
        };
        PendingRow { number, row: row.clone(), task }
    }

    pub(super) fn message(&self, owner: Owner, message: MessageId) -> Option<MessagePosition> {
        let inbox = self.inboxes.get(&owner)?;
        if inbox.returned.contains(&message) {
            return Some(MessagePosition::Returned);
        }
        inbox.messages.get(&message).copied().map(MessagePosition::Queued)
    }

    /// Deletes the keys that a deleted task used in its owner's inbox. Only that task could
    /// use them again.
    pub(super) fn drop_keys(&mut self, sender: &Task) {
        if let Some(inbox) = self.inboxes.get_mut(&sender.owner()) {
            inbox.keys.remove(&Caller::Task(sender.id()));
        }
    }
}
