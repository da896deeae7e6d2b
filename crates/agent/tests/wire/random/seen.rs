//! The events of all runs: a test in which nothing happens proves nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of times that an event has happened.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicUsize);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The number of events of each kind.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// A compaction was requested.
    pub(super) summed: Count,
    /// A request began with a compaction.
    pub(super) went_on: Count,
    /// A model could not read the whole conversation.
    pub(super) too_long: Count,
    /// A message interrupted half an answer.
    pub(super) cut: Count,
    /// A fork was requested.
    pub(super) forked: Count,
    /// The models of all names changed.
    pub(super) switched: Count,
    /// An ended task was continued.
    pub(super) continued: Count,
    /// A person cancelled a task.
    pub(super) cancelled: Count,
    /// The process died.
    pub(super) crashed: Count,
}

impl Seen {
    /// The events that never happened.
    pub(super) fn never(&self) -> Vec<&'static str> {
        let all = [
            ("summed", &self.summed),
            ("went on", &self.went_on),
            ("too long", &self.too_long),
            ("cut", &self.cut),
            ("forked", &self.forked),
            ("switched", &self.switched),
            ("continued", &self.continued),
            ("cancelled", &self.cancelled),
            ("crashed", &self.crashed),
        ];
        all.into_iter().filter(|(_, count)| count.get() == 0).map(|(name, _)| name).collect()
    }
}
