//! Sessions that are removed, piece by piece.

use offshoot_core::{Owner, SessionId};

use super::inbox::Inbox;
use super::ledger::{Desk, Ledger};
use super::notes::Notes;
use crate::query::{Order, Page, TaskQuery, Within};

/// What a session leaves that is still to be freed, without the lock.
#[derive(Debug, Default)]
pub(super) struct Remains {
    inbox: Option<Inbox>,
    notes: Option<Notes>,
    desk: Option<Desk>,
}

impl Ledger {
    /// Deletes up to `limit` things of a session that is being removed; how
    /// many.
    pub(super) fn remove(&mut self, id: SessionId, limit: usize) -> (usize, Remains) {
        let mut remains = Remains::default();
        if !self.session(id).is_some_and(|session| session.is_removing()) {
            return (0, remains);
        }
        let owner = Owner::Session(id);
        let mut query = TaskQuery::new(Within::Session(id));
        // Those that are owned before their owners.
        (query.order, query.limit) = (Order::NewestFirst, limit);
        let Page { items, next } = self.directory.page(&query);
        let deleted = items.len();
        for task in items {
            // All have ended, and what tells of an end has come home by then.
            if let Some(number) = self.directory.row(task.id())
                && let Some(inbox) = self.inboxes.get_mut(&owner)
            {
                inbox.remove(number);
            }
            self.forget(task.id());
        }
        if next.is_some() || deleted == limit {
            return (deleted, remains);
        }
        // A message without its inbox was read, as long as its task is there.
        remains.inbox = self.inboxes.remove(&owner);
        remains.notes = self.notes.remove(&owner);
        self.counters.remove(&owner);
        self.directory.remove_session(id);
        remains.desk = self.sessions.remove(&id);
        if let Some(Desk { session, ordinal, bell, .. }) = &remains.desk {
            self.session_names.remove(&(session.space.clone(), session.name.key().into()));
            self.session_order.remove(ordinal);
            bell.notify_waiters();
        }
        (deleted + 1, remains)
    }
}
