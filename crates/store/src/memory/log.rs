//! The event log of each session, bounded and in commit order.

use std::sync::Arc;

use offshoot_core::{Change, Cursor, Event, SessionId, Stamp, TaskId};
use tokio::sync::Notify;

use super::state::MemoryState;
use crate::query::{CursorExpired, EventPage};

/// An event without its session.
#[derive(Debug)]
pub(super) struct LogEntry {
    cursor: Cursor,
    task: Option<TaskId>,
    at: Stamp,
    change: Change,
}

impl LogEntry {
    fn event(&self, session: SessionId) -> Event {
        let Self { cursor, task, at, ref change } = *self;
        Event { cursor, session, task, at, change: change.clone() }
    }
}

impl MemoryState {
    pub(super) fn cursor(&self) -> Cursor {
        Cursor::new(self.now())
    }

    pub(super) fn notifier(&self, session: SessionId) -> Arc<Notify> {
        self.sessions.get(&session).map(|entry| entry.notifier.clone()).unwrap_or_default()
    }

    /// Adds an event to a session's log and deletes the events past the retention.
    pub(super) fn record(
        &mut self,
        session: SessionId,
        task: Option<TaskId>,
        at: Stamp,
        change: Change,
    ) {
        let cursor = Cursor::new(self.tick());
        let keep = self.retention.events.max(1);
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        entry.log.push_back(LogEntry { cursor, task, at, change });
        while entry.log.len() > keep
            && let Some(oldest) = entry.log.pop_front()
        {
            entry.last_deleted = oldest.cursor.number();
        }
        // Watchers hold the notifier, too.
        if Arc::strong_count(&entry.notifier) > 1 {
            entry.notifier.notify_waiters();
        }
    }

    pub(super) fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Result<EventPage, CursorExpired> {
        let sessions = || {
            let is_selected = |(id, _): &(&SessionId, _)| session.is_none_or(|one| one == **id);
            self.sessions.iter().filter(is_selected)
        };
        // The session that deleted the most recent event decides.
        let forgotten = sessions().map(|(_, entry)| entry.last_deleted).max().unwrap_or(0);
        if after.number() < forgotten {
            return Err(CursorExpired { oldest: Cursor::new(forgotten) });
        }
        let mut events = Vec::new();
        for (session, entry) in sessions() {
            let first = entry.log.partition_point(|event| event.cursor <= after);
            let newer = entry.log.range(first..).take(limit);
            events.extend(newer.map(|event| event.event(*session)));
        }
        if session.is_none() {
            events.sort_by_key(|event| event.cursor);
            events.truncate(limit);
        }
        let next = events.last().map_or(after, |event| event.cursor);
        Ok(EventPage { events, next })
    }
}
