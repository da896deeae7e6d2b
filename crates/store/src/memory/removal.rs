//! The removal of sessions, in bounded pieces.

use offshoot_core::{Owner, SessionId};

use super::inbox::Inbox;
use super::owner_data::OwnerData;
use super::state::{MemoryState, SessionEntry};
use crate::query::{Order, Page, TaskQuery, TaskScope};

/// The data of a removed session that must be freed after the lock is released.
#[derive(Debug, Default)]
pub(super) struct RemovedSession {
    inbox: Option<Inbox>,
    data: Option<OwnerData>,
    entry: Option<SessionEntry>,
}

impl MemoryState {
    /// Deletes up to `limit` items of a session that is being removed, and returns their
    /// number.
    pub(super) fn remove(&mut self, id: SessionId, limit: usize) -> (usize, RemovedSession) {
        let mut removed = RemovedSession::default();
        if !self.session(id).is_some_and(|session| session.is_removing()) {
            return (0, removed);
        }
        let owner = Owner::Session(id);
        let mut query = TaskQuery::new(TaskScope::Session(id));
        // Children come before their owners.
        (query.order, query.limit) = (Order::NewestFirst, limit);
        let Page { items, next } = self.index.page(&query);
        let deleted = items.len();
        for task in items {
            // All tasks have ended, so unread results are in the session's inbox.
            if let Some(number) = self.index.row(task.id())
                && let Some(inbox) = self.inboxes.get_mut(&owner)
            {
                inbox.remove(number);
            }
            self.delete_task(task.id());
        }
        if next.is_some() || deleted == limit {
            return (deleted, removed);
        }
        // The session's inbox goes last, because a message without an inbox counts as read.
        removed.inbox = self.inboxes.remove(&owner);
        removed.data = self.owner_data.remove(&owner);
        self.counters.remove(&owner);
        self.index.remove_session(id);
        removed.entry = self.sessions.remove(&id);
        if let Some(SessionEntry { session, ordinal, notifier, .. }) = &removed.entry {
            self.session_names.remove(&(session.space.clone(), session.name.key().into()));
            self.session_order.remove(ordinal);
            notifier.notify_waiters();
        }
        (deleted + 1, removed)
    }
}
