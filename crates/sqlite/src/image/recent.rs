//! The newest events of a session, in memory.

use std::collections::VecDeque;

use offshoot_core::{Cursor, Event};

/// The number of events kept in memory per session.
const KEEP: usize = 256;

/// The newest events of a session.
#[derive(Debug)]
pub(crate) struct RecentEvents {
    events: VecDeque<Event>,
    floor: u64,
}

impl RecentEvents {
    /// No events, and none missing after `floor`.
    pub(super) fn after(floor: u64) -> Self {
        Self { events: VecDeque::new(), floor }
    }

    pub(super) fn push(&mut self, event: Event) {
        if self.events.len() == KEEP
            && let Some(oldest) = self.events.pop_front()
        {
            self.floor = oldest.cursor.number();
        }
        self.events.push_back(event);
    }

    /// Whether all events after the cursor are here.
    pub(crate) fn covers(&self, after: Cursor) -> bool {
        after.number() >= self.floor
    }

    /// The events after a cursor, in order.
    pub(crate) fn since(&self, after: Cursor) -> impl Iterator<Item = &Event> {
        let first = self.events.partition_point(|event| event.cursor <= after);
        self.events.range(first..)
    }
}
