//! The end of a session's log, in memory.

use std::collections::VecDeque;

use offshoot_core::{Cursor, Event};

/// How many events of a session are kept in memory.
const KEEP: usize = 256;

/// The newest events of a session.
#[derive(Debug)]
pub(crate) struct Recent {
    events: VecDeque<Event>,
    floor: u64,
}

impl Recent {
    /// No event, all of those after `floor`.
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

    /// Whether every event after the cursor is here.
    pub(crate) fn covers(&self, after: Cursor) -> bool {
        after.number() >= self.floor
    }

    /// The events after a cursor, in order.
    pub(crate) fn since(&self, after: Cursor) -> impl Iterator<Item = &Event> {
        let first = self.events.partition_point(|event| event.cursor <= after);
        self.events.range(first..)
    }
}
