//! What has happened in all lives: a test in which nothing happens proves
//! nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How often something has happened.
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

/// What has happened.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// A summary was asked for.
    pub(super) summed: Count,
    /// A request began with a summary.
    pub(super) went_on: Count,
    /// A model could not read all of it.
    pub(super) too_long: Count,
    /// Half an answer was said, and somebody came in between.
    pub(super) cut: Count,
    /// A fork was asked for.
    pub(super) forked: Count,
    /// The models of all names became others.
    pub(super) switched: Count,
    /// A task that had ended went on.
    pub(super) continued: Count,
    /// A task was cancelled by a person.
    pub(super) cancelled: Count,
    /// The process died.
    pub(super) crashed: Count,
}

impl Seen {
    /// What never happened.
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
