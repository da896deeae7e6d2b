//! The kill points that are still to be tried.
//!
//! Workers report the commits they make: a run that differs from the earlier ones adds its own
//! commits.

use std::collections::VecDeque;

use hashbrown::HashSet;
use parking_lot::{Condvar, Mutex};

use crate::agents::kill_point::{CommitRef, KillPoint};

/// The number of times an unreached point is tried.
const TRIES: u32 = 4;

/// A directory, and the points at which its workers must die.
#[derive(Clone, Debug)]
pub struct Errand {
    /// Its number.
    pub number: usize,
    /// The kill points, one after another.
    pub points: Vec<KillPoint>,
    /// The number of earlier tries.
    pub tries: u32,
}

/// The kill points that are still to be tried.
#[derive(Debug)]
pub struct Work {
    every: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Errand>,
    known: HashSet<String>,
    /// The number of threads at work.
    busy: usize,
    is_over: bool,
}

impl Work {
    /// An empty queue. One of `every` commits is tried.
    pub fn new(every: usize) -> Self {
        Self { every: every.max(1), state: Mutex::default(), changed: Condvar::new() }
    }

    /// The number of known commits.
    pub fn known(&self) -> usize {
        self.state.lock().known.len()
    }

    /// Queues the new ones among these commits.
    pub fn found(&self, commits: &[String]) {
        let state = &mut *self.state.lock();
        for commit in commits {
            let number = state.known.len();
            if !state.known.insert(commit.clone()) || !number.is_multiple_of(self.every) {
                continue;
            }
            let which = || CommitRef::Named(commit.clone());
            for point in [KillPoint::Before(which()), KillPoint::After(which())] {
                state.queue.push_back(Errand { number, points: vec![point], tries: 0 });
            }
        }
        self.changed.notify_all();
    }

    /// Queues one more errand.
    pub fn add(&self, errand: Errand) {
        self.state.lock().queue.push_back(errand);
        self.changed.notify_all();
    }

    /// The next errand; none once the work is over.
    pub fn take(&self) -> Option<Errand> {
        let mut state = self.state.lock();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(errand) = state.queue.pop_front() {
                state.busy += 1;
                return Some(errand);
            }
            if state.busy == 0 {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Ends an errand, or queues it again if its point was not reached. Returns the errand if
    /// that has happened too often.
    pub fn done(&self, missed: Option<Errand>) -> Option<Errand> {
        let mut state = self.state.lock();
        state.busy -= 1;
        self.changed.notify_all();
        let errand = missed.map(|errand| Errand { tries: errand.tries + 1, ..errand })?;
        if errand.tries >= TRIES {
            return Some(errand);
        }
        state.queue.push_back(errand);
        None
    }

    /// Ends the work.
    pub fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Whether the work is over.
    pub fn is_over(&self) -> bool {
        self.state.lock().is_over
    }
}
