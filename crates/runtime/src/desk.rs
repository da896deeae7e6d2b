//! What a session has in this process beside its record.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::signal::Signal;

/// One session, seen from inside this process.
#[derive(Debug)]
pub(crate) struct Desk {
    /// Told when the session's inbox has something new.
    pub(crate) nudge: Signal,
    counters: Mutex<HashMap<Arc<str>, u64>>,
    spawned: u64,
}

impl Desk {
    /// A desk for a session in which `spawned` tasks were spawned before.
    pub(crate) fn new(spawned: u64) -> Self {
        Self { nudge: Signal::default(), counters: Mutex::default(), spawned }
    }

    /// The next number for a handle of this stem.
    pub(crate) fn count(&self, stem: &Arc<str>) -> u64 {
        let mut counters = self.counters.lock();
        match counters.get_mut(stem) {
            Some(count) => {
                *count += 1;
                *count
            }
            None => {
                // Numbers used before this process are not more than the
                // tasks spawned before it.
                let first = self.spawned + 1;
                counters.insert(stem.clone(), first);
                first
            }
        }
    }
}
