//! What a session has in this process beside its record.

mod counters;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_core::{Name, SessionId};
use parking_lot::Mutex;

use self::counters::Counters;
use crate::error::Error;
use crate::signal::Signal;

/// One session, seen from inside this process.
#[derive(Debug)]
pub(crate) struct Desk {
    /// Told when the session's inbox has something new.
    pub(crate) nudge: Signal,
    /// Whether a task reported whose reports shall wake the session.
    activity: AtomicBool,
    /// Whether the session is being removed, or is gone.
    removed: AtomicBool,
    counters: Mutex<Counters>,
}

impl Desk {
    /// A desk for a session in which `spawned` tasks were spawned before.
    pub(crate) fn new(spawned: u64) -> Self {
        // Numbers used before this process are not more than the tasks
        // spawned before it.
        let counters = Mutex::new(Counters::after(spawned));
        let (activity, removed) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { nudge: Signal::default(), activity, removed, counters }
    }

    /// Tells everybody who has the session in hand that it is gone.
    pub(crate) fn remove(&self) {
        self.removed.store(true, Ordering::Release);
        self.nudge.ring();
    }

    /// Whether the session is still there, as far as this process has heard.
    pub(crate) fn check(&self, id: SessionId) -> Result<(), Error> {
        if self.removed.load(Ordering::Acquire) { Err(Error::no_session(id)) } else { Ok(()) }
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
        self.counters.lock().count(stem)
    }
}
