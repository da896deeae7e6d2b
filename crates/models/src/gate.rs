//! The gate before a provider, which limits the concurrent calls of all agents with
//! the same key.
//!
//! A rate limit that one caller meets holds for all callers. The gate then closes
//! for the time that the provider asks for, or for a delay that doubles, and
//! admits fewer calls at a time. After that one call goes ahead. Its first event
//! opens the gate again, and each answer admits a few more calls.
//!
//! An error of the provider itself may concern one call alone. Unless the provider
//! asks for a delay, the gate closes only if a second caller meets the error with
//! no answer in between.

use std::collections::HashMap;
use std::fmt;
use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error::ModelError;
use crate::keys::Keys;
use crate::provider::Provider;

/// How many are let through at a time before anything is known.
const WIDE: f64 = 64.0;

/// How many are let through at the most.
const WIDEST: f64 = 1_024.0;

/// How long the gate closes at first if the provider does not say more.
const FIRST: Duration = Duration::from_secs(1);

/// How long it closes at the most if the provider does not say more.
const LONGEST: Duration = Duration::from_secs(60);

/// Within what time two callers who meet trouble meet the same.
const TOGETHER: Duration = Duration::from_secs(30);

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
    /// The gate before a provider for one more caller who has these keys.
    pub fn before(&self, provider: Provider, keys: &Keys) -> Gate {
        let key = keys.fingerprint(provider, &self.state);
        self.all.lock().entry(key).or_default().for_another()
    }
}

/// The gate before one provider, as one of its callers has it. Cheap to clone;
/// the clones are the same caller's.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    inner: Arc<Inner>,
    caller: u64,
}

#[derive(Debug, Default)]
struct Inner {
    // Callers pass in the order of their arrival.
    turnstile: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    changed: Notify,
    callers: AtomicU64,
}

#[derive(Debug)]
struct State {
    width: f64,
    inside: usize,
    closed: Option<(Instant, ClosingReason)>,
    // The caller that met an error last, and when, if no answer came since.
    troubled: Option<(u64, Instant)>,
    // How often the gate closed since the last answer.
    closings: u32,
    // How often the gate closed at all. The outcome of an earlier pass is no
    // news.
    generation: u64,
    ahead: Ahead,
}

/// After a closing one goes ahead to see whether it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// No call needs to: the gate is open.
    Needless,
    /// The next one does.
    Due,
    /// A call has gone ahead and has no event yet.
    Gone,
}

impl Default for State {
    fn default() -> Self {
        Self {
            width: WIDE,
            inside: 0,
            closed: None,
            troubled: None,
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

    /// Until when the gate is closed, and why.
    fn closed(&self, now: Instant) -> Option<(Instant, ClosingReason)> {
        self.closed.filter(|(until, _)| *until > now)
    }

    /// Notes that a caller met trouble; whether another one has, too.
    fn is_shared(&mut self, caller: u64, now: Instant) -> bool {
        let before = self.troubled.replace((caller, now));
        before.is_some_and(|(other, at)| other != caller && now - at <= TOGETHER)
    }
}

/// A gate that is closed for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateClosing {
    /// How long it still is.
    pub left: Duration,
    /// Why. In whose words is no matter of the others who wait.
    pub why: ClosingReason,
}

/// Why a gate is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosingReason {
    /// The provider limits the rate of calls.
    Limited(Provider),
    /// The provider has trouble of its own.
    Overloaded(Provider),
}

impl fmt::Display for ClosingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limited(by) => write!(f, "{by}: it limits the rate of calls"),
            Self::Overloaded(by) => write!(f, "{by}: it is overloaded or out of order"),
        }
    }
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
    /// The same gate, for one more caller.
    fn for_another(&self) -> Self {
        let caller = self.inner.callers.fetch_add(1, Ordering::Relaxed) + 1;
        Self { inner: self.inner.clone(), caller }
    }

    /// A pass, if there is one at once. Waiting callers go first.
    pub fn try_pass(&self) -> Option<Pass> {
        let _turn = self.inner.turnstile.try_lock().ok()?;
        self.enter(Instant::now())
    }

    /// Waits for a pass. Dropping the future gives up the place in the queue.
    pub async fn pass(&self) -> Pass {
        let _turn = self.inner.turnstile.lock().await;
        loop {
            let changed = self.inner.changed.notified();
            let now = Instant::now();
            if let Some(pass) = self.enter(now) {
                return pass;
            }
            let closed = self.inner.state.lock().closed(now);
            match closed {
                Some((until, _)) => {
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
    pub fn closed(&self) -> Option<GateClosing> {
        let (state, now) = (self.inner.state.lock(), Instant::now());
        let (until, why) = state.closed(now)?;
        Some(GateClosing { left: until - now, why })
    }

    fn enter(&self, now: Instant) -> Option<Pass> {
        let mut state = self.inner.state.lock();
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
        // Most passes did not go ahead, and every event of an answer calls this.
        if self.goes_ahead.load(Ordering::Relaxed) && self.goes_ahead.swap(false, Ordering::Relaxed)
        {
            self.gate.inner.state.lock().ahead = Ahead::Needless;
            self.gate.inner.changed.notify_waiters();
        }
    }

    /// It came back with an answer. Others may try more, unless the gate has
    /// closed since it went in: then it says nothing of how things are now.
    pub fn answered(self) {
        self.heard();
        let mut state = self.gate.inner.state.lock();
        state.troubled = None;
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
        let (why, told) = match error {
            ModelError::RateLimited { provider, retry_after, .. } => {
                (ClosingReason::Limited(*provider), *retry_after)
            }
            ModelError::Overloaded { provider, retry_after, .. } => {
                (ClosingReason::Overloaded(*provider), *retry_after)
            }
            _ => return,
        };
        // A delay of zero is no delay.
        let told = told.filter(|told| !told.is_zero());
        let (mut state, now) = (self.gate.inner.state.lock(), Instant::now());
        if let (ClosingReason::Overloaded(_), None) = (why, told)
            && !state.is_shared(self.gate.caller, now)
        {
            return;
        }
        let first = self.generation == state.generation;
        if !first && told.is_none() {
            return;
        }
        // All who wait must not come back in the same moment.
        let told = told.map_or(Duration::ZERO, |told| {
            let told = told.min(PATIENCE);
            told + (told / 10).min(SPREAD).mul_f64(chance)
        });
        let floor = match first {
            true => {
                let doubled = FIRST.saturating_mul(1 << state.closings.min(10)).min(LONGEST);
                doubled.mul_f64(0.5 + 0.5 * chance)
            }
            false => Duration::ZERO,
        };
        let until = now + told.max(floor);
        if state.closed.is_none_or(|(other, _)| other < until) {
            state.closed = Some((until, why));
        }
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
        let mut state = self.gate.inner.state.lock();
        state.inside = state.inside.saturating_sub(1);
        if *self.goes_ahead.get_mut() {
            state.ahead = Ahead::Due;
        }
        drop(state);
        self.gate.inner.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
