//! The gate before a provider: one for each key, for all agents together.
//!
//! A provider that is asked too much says so to one caller, and means all. So
//! all go through one gate. It closes for as long as the provider says, or for
//! a while that doubles, and lets fewer through at a time. Then one goes ahead,
//! and with its first word the gate is open again; each answer lets a few more
//! through.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::{Again, ModelError};
use crate::keys::Keys;
use crate::name::Provider;

/// How many are let through at a time before anything is known.
const WIDE: f64 = 64.0;

/// How many are let through at the most.
const WIDEST: f64 = 1_024.0;

/// How long the gate closes at first if the provider does not say.
const FIRST: Duration = Duration::from_secs(1);

/// How long it closes at the most if the provider does not say.
const LONGEST: Duration = Duration::from_secs(60);

/// How long a provider may have it closed at once: as long as a limit on a
/// day's calls. One that says more is asked again after this.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// How much later than the provider says it opens at the most, so that not all
/// who were told the same come back at once.
const SPREAD: Duration = Duration::from_secs(60);

/// All gates of a process. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    all: Arc<Mutex<HashMap<u64, Gate>>>,
    state: Arc<RandomState>,
}

impl Gates {
    /// The gate before a provider for whoever has these keys.
    pub fn before(&self, provider: Provider, keys: &Keys) -> Gate {
        let print = keys.print(provider, &self.state);
        self.all.lock().entry(print).or_default().clone()
    }
}

/// The gate before one provider. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    // Whoever comes first goes first.
    turnstile: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    width: f64,
    inside: usize,
    closed_until: Option<Instant>,
    // What the provider said when it closed last.
    why: Option<Arc<str>>,
    // How often it closed since it last let somebody through who came back
    // with an answer.
    closings: u32,
    // How often it closed at all. Whoever went in before the last time learns
    // nothing that the gate does not know.
    generation: u64,
    ahead: Ahead,
}

/// After a closing one goes ahead to see whether it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// Nobody needs to: it is open.
    Needless,
    /// The next one does.
    Due,
    /// Somebody does, and nothing was heard of it yet.
    Gone,
}

impl Default for State {
    fn default() -> Self {
        Self {
            width: WIDE,
            inside: 0,
            closed_until: None,
            why: None,
            closings: 0,
            generation: 0,
            ahead: Ahead::Needless,
        }
    }
}

impl State {
    /// How many more may go in.
    fn room(&self, now: Instant) -> usize {
        if self.closed(now).is_some() {
            return 0;
        }
        match self.ahead {
            Ahead::Needless => (self.width as usize).saturating_sub(self.inside),
            // Those who went in before the closing may stay for minutes.
            Ahead::Due => 1,
            Ahead::Gone => 0,
        }
    }

    /// Until when it is closed, whatever anybody does.
    fn closed(&self, now: Instant) -> Option<Instant> {
        self.closed_until.filter(|until| *until > now)
    }
}

/// A gate that is closed for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// How long it still is.
    pub left: Duration,
    /// What its provider said.
    pub why: Arc<str>,
}

/// The right to call a provider. Dropped without a word it only makes room; if
/// it went ahead after a closing, the next one does.
#[derive(Debug)]
#[must_use]
pub struct Pass {
    gate: Gate,
    generation: u64,
    // Until something is heard.
    goes_ahead: AtomicBool,
}

impl Gate {
    /// A pass, if there is one at once. Nobody overtakes those who wait.
    pub fn try_pass(&self) -> Option<Pass> {
        let _turn = self.0.turnstile.try_lock().ok()?;
        self.enter(Instant::now())
    }

    /// Waits for a pass. Whoever stops waiting loses nothing but the place.
    pub async fn pass(&self) -> Pass {
        let _turn = self.0.turnstile.lock().await;
        loop {
            let changed = self.0.changed.notified();
            let now = Instant::now();
            if let Some(pass) = self.enter(now) {
                return pass;
            }
            let closed = self.0.state.lock().closed(now);
            match closed {
                Some(until) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(until) => {}
                        () = changed => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// For how long it is closed, as far as is known now, and why; nothing if it
    /// is open, even if there is no room.
    pub fn closed(&self) -> Option<Closed> {
        let (state, now) = (self.0.state.lock(), Instant::now());
        let until = state.closed(now)?;
        Some(Closed { left: until - now, why: state.why.clone().unwrap_or_default() })
    }

    fn enter(&self, now: Instant) -> Option<Pass> {
        let mut state = self.0.state.lock();
        (state.room(now) > 0).then(|| {
            state.inside += 1;
            let goes_ahead = state.ahead == Ahead::Due;
            if goes_ahead {
                state.ahead = Ahead::Gone;
            }
            let (gate, generation) = (self.clone(), state.generation);
            Pass { gate, generation, goes_ahead: goes_ahead.into() }
        })
    }
}

impl Pass {
    /// The first piece of an answer came. If the gate waited for it, it opens:
    /// the rest may take minutes. To be called as often as one likes.
    pub fn heard(&self) {
        // Most went ahead of nobody, and each piece of an answer comes by here.
        if self.goes_ahead.load(Ordering::Relaxed) && self.goes_ahead.swap(false, Ordering::Relaxed)
        {
            self.gate.0.state.lock().ahead = Ahead::Needless;
            self.gate.0.changed.notify_waiters();
        }
    }

    /// It came back with an answer. Others may try more, unless the gate has
    /// closed since it went in: then it says nothing of how things are now.
    pub fn answered(self) {
        self.heard();
        let mut state = self.gate.0.state.lock();
        if self.generation == state.generation {
            state.closings = 0;
            state.width = (state.width + 1.0 / state.width).min(WIDEST);
        }
    }

    /// It came back with an error. If the provider limits calls the gate closes
    /// for all; `chance`, from 0 to 1, says where in its range the time lies.
    ///
    /// Of all who are inside, the first to be limited closes the gate. The
    /// others may be told to wait longer, but they are no reason to be more
    /// careful: it is the same burst.
    pub fn failed(self, error: &ModelError, chance: f64) {
        let told = match error {
            ModelError::RateLimited { .. } | ModelError::Overloaded { .. } => error.again(),
            _ => return,
        };
        let Again::After(told) = told else { return };
        let mut state = self.gate.0.state.lock();
        let first = self.generation == state.generation;
        // All who wait must not come back in the same moment.
        let span = match told {
            Some(told) => {
                let told = told.min(PATIENCE);
                told + (told / 10).min(SPREAD).mul_f64(chance)
            }
            None if first => {
                let doubled = FIRST.saturating_mul(1 << state.closings.min(10)).min(LONGEST);
                doubled.mul_f64(0.5 + 0.5 * chance)
            }
            None => return,
        };
        let until = Instant::now() + span;
        state.why = Some(error.to_string().into());
        state.closed_until = Some(state.closed_until.map_or(until, |other| other.max(until)));
        if first {
            state.generation += 1;
            state.ahead = Ahead::Due;
            state.closings = state.closings.saturating_add(1);
            state.width = (state.inside as f64 / 2.0).max(1.0);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.gate.0.state.lock();
        state.inside = state.inside.saturating_sub(1);
        if *self.goes_ahead.get_mut() {
            state.ahead = Ahead::Due;
        }
        drop(state);
        self.gate.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
