//! The log: per session, bounded, in commit order.

use std::sync::Arc;

use offshoot_core::{Change, Cursor, Event, SessionId, Stamp, TaskId};
use tokio::sync::Notify;

use super::ledger::Ledger;
use crate::query::{EventPage, Expired};

/// An event of a known session.
#[derive(Debug)]
pub(super) struct Entry {
    cursor: Cursor,
    task: Option<TaskId>,
    at: Stamp,
    change: Change,
}

impl Entry {
    fn event(&self, session: SessionId) -> Event {
        let Self { cursor, task, at, ref change } = *self;
        Event { cursor, session, task, at, change: change.clone() }
    }
}

impl Ledger {
    pub(super) fn cursor(&self) -> Cursor {
        Cursor::new(self.now())
    }

    pub(super) fn bell(&self, session: SessionId) -> Arc<Notify> {
        self.sessions.get(&session).map(|desk| desk.bell.clone()).unwrap_or_default()
    }

    /// Adds to a session's log and forgets what is past its retention.
    pub(super) fn record(
        &mut self,
        session: SessionId,
        task: Option<TaskId>,
        at: Stamp,
        change: Change,
    ) {
        let cursor = Cursor::new(self.tick());
        let keep = self.retention.events.max(1);
        let Some(desk) = self.sessions.get_mut(&session) else { return };
        desk.log.push_back(Entry { cursor, task, at, change });
        while desk.log.len() > keep
            && let Some(oldest) = desk.log.pop_front()
        {
            desk.forgotten = oldest.cursor.number();
        }
        // Whoever listens holds the bell, too.
        if Arc::strong_count(&desk.bell) > 1 {
            desk.bell.notify_waiters();
        }
    }

    pub(super) fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Result<EventPage, Expired> {
        let desks = || {
            let asked = |(id, _): &(&SessionId, _)| session.is_none_or(|one| one == **id);
            self.sessions.iter().filter(asked)
        };
        // Of several sessions, the one that forgot last says where to go on.
        let forgotten = desks().map(|(_, desk)| desk.forgotten).max().unwrap_or(0);
        if after.number() < forgotten {
            return Err(Expired { oldest: Cursor::new(forgotten) });
        }
        let mut events = Vec::new();
        for (session, desk) in desks() {
            let first = desk.log.partition_point(|entry| entry.cursor <= after);
            let entries = desk.log.range(first..).take(limit);
            events.extend(entries.map(|entry| entry.event(*session)));
        }
        if session.is_none() {
            events.sort_by_key(|event| event.cursor);
            events.truncate(limit);
        }
        let next = events.last().map_or(after, |event| event.cursor);
        Ok(EventPage { events, next })
    }
}
