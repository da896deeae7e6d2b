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
        // What tells of its tasks goes before them, all at once: so nobody has
        // to look for the row of each.
        let owner = Owner::Session(id);
        remains.inbox = self.inboxes.remove(&owner);
        let mut query = TaskQuery::new(Within::Session(id));
        // Those that are owned before their owners.
        (query.order, query.limit) = (Order::NewestFirst, limit);
        let Page { items, next } = self.directory.page(&query);
        let deleted = items.into_iter().filter(|task| self.forget(task.id())).count();
        if next.is_some() || deleted == limit {
            return (deleted, remains);
        }
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
