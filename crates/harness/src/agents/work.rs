//! What is still to be tried.
//!
//! Commits are found by those who make them: a life that went another way than
//! the ones before adds its own.

use std::collections::VecDeque;

use hashbrown::HashSet;
use parking_lot::{Condvar, Mutex};

use crate::agents::kill_point::{CommitRef, KillPoint};

/// How often an unreached point is tried.
const TRIES: u32 = 4;

/// A folder, and where its workers shall die.
#[derive(Clone, Debug)]
pub struct Errand {
    /// CommitRef one it is.
    pub number: usize,
    /// Where they shall die, one after another.
    pub points: Vec<KillPoint>,
    /// How often that was tried before.
    pub tries: u32,
}

/// What is still to be tried.
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
    /// How many are at it.
    busy: usize,
    is_over: bool,
}

impl Work {
    /// Nothing yet. Of so many commits one is tried.
    pub fn new(every: usize) -> Self {
        Self { every: every.max(1), state: Mutex::default(), changed: Condvar::new() }
    }

    /// How many commits are known.
    pub fn known(&self) -> usize {
        self.state.lock().known.len()
    }

    /// There are these commits; those that are new are to be tried.
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

    /// This is to be done, too.
    pub fn add(&self, errand: Errand) {
        self.state.lock().queue.push_back(errand);
        self.changed.notify_all();
    }

    /// The next one; nothing if there is none any more.
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

    /// One that was taken is done, or its point was not reached and it is tried
    /// again; the errand if that happened too often.
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

    /// Nothing is to be tried any more.
    pub fn end(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Whether nothing is to be tried any more.
    pub fn is_over(&self) -> bool {
        self.state.lock().is_over
    }
}
