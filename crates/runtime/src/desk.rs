//! What a session has in this process beside its record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_core::{Name, Series};
use parking_lot::Mutex;

use crate::signal::Signal;

/// One session, seen from inside this process.
#[derive(Debug)]
pub(crate) struct Desk {
    /// Told when the session's inbox has something new.
    pub(crate) nudge: Signal,
    /// Whether a task reported whose reports shall wake the session.
    activity: AtomicBool,
    counters: Mutex<Vec<(Arc<str>, Series)>>,
    spawned: u64,
}

impl Desk {
    /// A desk for a session in which `spawned` tasks were spawned before.
    pub(crate) fn new(spawned: u64) -> Self {
        let activity = AtomicBool::new(false);
        Self { nudge: Signal::default(), activity, counters: Mutex::default(), spawned }
    }

    /// Notes that a task reported whose reports shall wake the session.
    pub(crate) fn note_activity(&self) {
        self.activity.store(true, Ordering::Release);
    }

    /// Whether one did since this was last asked.
    pub(crate) fn take_activity(&self) -> bool {
        self.activity.swap(false, Ordering::AcqRel)
    }

    /// The next name counted of this stem.
    pub(crate) fn count(&self, stem: &Arc<str>) -> Name {
        let mut counters = self.counters.lock();
        // A session uses few stems, and mostly those it used before.
        let found = counters.iter().position(|(known, _)| Arc::ptr_eq(known, stem));
        let found = found.or_else(|| counters.iter().position(|(known, _)| known == stem));
        let at = found.unwrap_or_else(|| {
            // Numbers used before this process are not more than the tasks
            // spawned before it.
            counters.push((stem.clone(), Series::new(stem, self.spawned + 1)));
            counters.len() - 1
        });
        counters[at].1.advance()
    }
}
