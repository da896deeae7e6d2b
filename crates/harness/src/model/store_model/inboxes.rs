//! The expected contents of the inboxes.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot_core::{Caller, InboxMessage, MessageId, Owner, RowBody, RowId, Task, TaskId, Wake};

use super::{ModelRow, RowFate, StoreModel};
use crate::model::invariants::removal;
use crate::violation::{Checked, ensure};

impl StoreModel {
    pub(super) fn deliver(&mut self, id: RowId, owner: Owner, body: &RowBody) -> Checked {
        if let RowBody::Message(message) = body
            && message.key.is_some()
        {
            self.keyed.entry((owner, message.from)).or_default().push(message.clone());
        }
        self.clock += 1;
        let number = self.clock;
        removal::check_there(self, owner)?;
        let (body, fate) = (body.clone(), RowFate::Pending);
        let row = ModelRow { to: owner, owner, number, body, fate };
        let before = self.rows.insert(id, row);
        ensure(before.is_none(), "S4.1 exactly one row tells of a thing", || {
            format!("row {id} for {owner} was delivered twice: {before:?}")
        })?;
        self.inboxes.entry(owner).or_default().insert(number, id);
        Ok(())
    }

    pub(super) fn acknowledge(&mut self, owner: Owner, id: RowId, read: RowFate) {
        if let Some(row) = self.rows.get_mut(&id)
            && row.fate == RowFate::Pending
            && row.owner == owner
        {
            row.fate = read;
            if let Some(inbox) = self.inboxes.get_mut(&owner) {
                inbox.remove(&row.number);
            }
            if let RowBody::Result(task) = row.body
                && let Some(known) = self.tasks.get_mut(&task)
            {
                self.clock += 1;
                known.read = Some(self.clock);
            }
        }
    }

    pub(super) fn close_inbox(&mut self, task: TaskId, recipient: Owner) {
        let Some(rows) = self.inboxes.remove(&Owner::Task(task)) else { return };
        for (number, id) in rows {
            let Some(row) = self.rows.get(&id) else { continue };
            let (owner, body) = match &row.body {
                RowBody::Message(message) => match self.reader(message, task) {
                    Some(sender) => (sender, RowBody::Returned(message.clone())),
                    None => (recipient, RowBody::Message(message.clone())),
                },
                other => (recipient, other.clone()),
            };
            let Some(row) = self.rows.get_mut(&id) else { continue };
            (row.owner, row.body) = (owner, body);
            self.inboxes.entry(owner).or_default().insert(number, id);
        }
    }

    /// The recipient of a returned message, if its sender can still read.
    fn reader(&self, message: &InboxMessage, closing: TaskId) -> Option<Owner> {
        match message.from {
            Caller::Host => None,
            Caller::Session(id) => Some(Owner::Session(id)),
            Caller::Task(id) => {
                let reads = id != closing && self.task(id).is_some_and(Task::is_live);
                reads.then_some(Owner::Task(id))
            }
        }
    }

    /// The ids of an owner's pending rows, in order.
    pub fn pending(&self, owner: Owner) -> Vec<RowId> {
        self.inboxes.get(&owner).map(|rows| rows.values().copied().collect()).unwrap_or_default()
    }

    /// Whether an unread row of an owner is worth a turn.
    pub fn has_reason(&self, owner: Owner) -> bool {
        let unread = self.inboxes.get(&owner).into_iter().flat_map(BTreeMap::values);
        let mut unread = unread.filter_map(|id| self.rows.get(id));
        unread.any(|row| match row.body {
            RowBody::Result(task) => {
                self.task(task).is_none_or(|task| task.spec.wake != Wake::Silent)
            }
            _ => true,
        })
    }

    /// The number of unread messages of an owner.
    pub fn unread_messages(&self, owner: Owner) -> usize {
        let unread = self.inboxes.get(&owner).into_iter().flat_map(BTreeMap::values);
        let unread = unread.filter_map(|id| self.rows.get(id));
        let sent = |row: &&ModelRow| matches!(row.body, RowBody::Message(_)) && !row.is_passed_on();
        unread.filter(sent).count()
    }

    /// The message that the sender of this one has sent this owner under its key.
    pub fn sent_before(&self, owner: Owner, message: &InboxMessage) -> Option<&InboxMessage> {
        let key = message.key.as_ref()?;
        let sent = self.keyed.get(&(owner, message.from))?;
        sent.iter().map(Arc::as_ref).find(|sent| sent.key.as_ref() == Some(key))
    }

    /// The state of a message.
    pub fn message(&self, id: MessageId) -> Option<&ModelRow> {
        self.rows.get(&RowId::from(id))
    }
}
