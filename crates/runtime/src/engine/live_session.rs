//! A session in this process, beside its record.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hashbrown::HashMap;
use offshoot_core::{Name, Series, SessionId};
use parking_lot::Mutex;

use crate::error::Error;
use crate::signal::Signal;

/// One session in this process.
#[derive(Debug)]
pub(crate) struct LiveSession {
    /// Notified when the session's inbox has a new row.
    pub(crate) wakeup: Signal,
    /// Whether a task has reported whose reports wake the session.
    activity: AtomicBool,
    /// Whether the session is removed or being removed.
    removed: AtomicBool,
    names: Mutex<NameCounters>,
}

impl LiveSession {
    /// The entry of a session in which `spawned` tasks were spawned before.
    pub(crate) fn new(spawned: u64) -> Self {
        // The numbers used so far are at most the tasks spawned so far.
        let names = Mutex::new(NameCounters::after(spawned));
        let (activity, removed) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { wakeup: Signal::default(), activity, removed, names }
    }

    /// Tells all holders of the session that it is removed.
    pub(crate) fn mark_removed(&self) {
        self.removed.store(true, Ordering::Release);
        self.wakeup.notify();
    }

    /// Returns [`Error::NoSession`] if this process knows of a removal.
    pub(crate) fn check(&self, id: SessionId) -> Result<(), Error> {
        if self.removed.load(Ordering::Acquire) { Err(Error::no_session(id)) } else { Ok(()) }
    }

    /// Notes that a task has reported whose reports wake the session.
    pub(crate) fn note_activity(&self) {
        self.activity.store(true, Ordering::Release);
    }

    /// Whether such a task has reported since the last call.
    pub(crate) fn take_activity(&self) -> bool {
        self.activity.swap(false, Ordering::AcqRel)
    }

    /// The next numbered name with this stem.
    pub(crate) fn next_name(&self, stem: &Arc<str>) -> Name {
        self.names.lock().next(stem)
    }
}

/// The number of stems with a counter of their own. A session that uses more starts
/// all counters again, above every number used so far.
const STEMS: usize = 1_024;

/// The next number of every stem.
#[derive(Debug)]
struct NameCounters {
    // Most sessions use one stem only; it is found without hashing.
    first: Option<(Arc<str>, Series)>,
    others: HashMap<Arc<str>, Series>,
    // The highest number that a stem without a counter may have used.
    base: u64,
    // How many names were made above `base`, which bounds every counter.
    made: u64,
}

impl NameCounters {
    /// Counters that start above `base`.
    fn after(base: u64) -> Self {
        Self { first: None, others: HashMap::new(), base, made: 0 }
    }

    /// The next name with this stem.
    fn next(&mut self, stem: &Arc<str>) -> Name {
        if self.others.len() >= STEMS && !self.others.contains_key(stem) && !self.is_first(stem) {
            *self = Self::after(self.base.saturating_add(self.made));
        }
        self.made += 1;
        let begin = || Series::new(stem, self.base.saturating_add(1));
        let (first, series) = self.first.get_or_insert_with(|| (stem.clone(), begin()));
        if Arc::ptr_eq(first, stem) || first == stem {
            return series.advance();
        }
        self.others.entry(stem.clone()).or_insert_with(begin).advance()
    }

    fn is_first(&self, stem: &Arc<str>) -> bool {
        self.first.as_ref().is_some_and(|(first, _)| first == stem)
    }
}

#[cfg(test)]
mod tests {
    use hashbrown::HashSet;

    use super::*;

    fn stem(number: usize) -> Arc<str> {
        format!("stem {number}").into()
    }

    #[test]
    fn s1_2_every_stem_is_counted_by_itself() {
        let mut counters = NameCounters::after(4);
        let (one, other) = (stem(1), stem(2));
        let names = [&one, &other, &one, &other, &stem(1)].map(|stem| counters.next(stem));
        let names = names.each_ref().map(Name::as_str);
        assert_eq!(names, ["stem 1-5", "stem 2-5", "stem 1-6", "stem 2-6", "stem 1-7"]);
    }

    #[test]
    fn names_stay_unique_and_few_counters_are_kept() {
        let mut counters = NameCounters::after(0);
        let mut names = HashSet::new();
        for _ in 0..3 {
            for number in 0..2 * STEMS {
                let name = counters.next(&stem(number % (STEMS + 9)));
                assert!(names.insert(name.as_str().to_owned()), "{name} was made twice");
                assert!(counters.others.len() <= STEMS);
            }
        }
    }
}
