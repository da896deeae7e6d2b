//! The gate before a provider: one for each key, for all agents together.
//!
//! A provider that is asked too much says so to one caller, and means all. So
//! all go through one gate. It closes for as long as the provider says, or for
//! a while that doubles, and lets fewer through at a time; each answer lets a
//! few more through again.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::Arc;
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

/// How long a provider may have it closed at once. One that says more is asked
/// again after this.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

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
    // How often it closed since it last let somebody through who came back
    // with an answer.
    closings: u32,
}

impl Default for State {
    fn default() -> Self {
        Self { width: WIDE, inside: 0, closed_until: None, closings: 0 }
    }
}

/// The right to call a provider. Dropped without a word it only makes room.
#[derive(Debug)]
#[must_use]
pub struct Pass {
    gate: Gate,
}

impl Gate {
    /// A pass, if there is one at once.
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
            let closed_until = self.0.state.lock().closed_until;
            match closed_until.filter(|until| *until > now) {
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

    fn enter(&self, now: Instant) -> Option<Pass> {
        let mut state = self.0.state.lock();
        let open = state.closed_until.is_none_or(|until| until <= now);
        // After a closing one goes ahead to see whether it is over.
        let width = if state.closings > 0 { 1 } else { state.width as usize };
        (open && state.inside < width).then(|| {
            state.inside += 1;
            Pass { gate: self.clone() }
        })
    }
}

impl Pass {
    /// An answer has begun to come: whoever went ahead after a closing has seen
    /// that it is over, and the others need not wait for the whole of it.
    pub fn heard(&self) {
        self.gate.0.state.lock().closings = 0;
        self.gate.0.changed.notify_waiters();
    }

    /// It came back with an answer. Others may try more.
    pub fn answered(self) {
        let mut state = self.gate.0.state.lock();
        state.closings = 0;
        state.width = (state.width + 1.0 / state.width).min(WIDEST);
    }

    /// It came back with an error. If the provider limits calls the gate closes
    /// for all; `chance`, from 0 to 1, says where in its range the time lies.
    pub fn failed(self, error: &ModelError, chance: f64) {
        let told = match error {
            ModelError::RateLimited { .. } | ModelError::Overloaded { .. } => error.again(),
            _ => return,
        };
        let Again::After(told) = told else { return };
        let mut state = self.gate.0.state.lock();
        let doubled = FIRST.saturating_mul(1 << state.closings.min(10)).min(LONGEST);
        // All who wait must not come back in the same moment.
        let span = match told {
            Some(told) => told.min(PATIENCE).mul_f64(1.0 + 0.1 * chance),
            None => doubled.mul_f64(0.5 + 0.5 * chance),
        };
        let until = Instant::now() + span;
        state.closed_until = Some(state.closed_until.map_or(until, |other| other.max(until)));
        state.closings = state.closings.saturating_add(1);
        state.width = (state.inside as f64 / 2.0).max(1.0);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.gate.0.state.lock();
        state.inside = state.inside.saturating_sub(1);
        drop(state);
        self.gate.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after: Option<Duration>) -> ModelError {
        let (provider, message) = (Provider::OpenAi, "slow down".to_owned());
        ModelError::RateLimited { provider, retry_after, message }
    }

    async fn waited(gate: &Gate) -> Duration {
        let begun = Instant::now();
        gate.pass().await.answered();
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn s8_4_what_one_is_told_holds_for_all() {
        let gate = Gate::default();
        let (one, other) = (gate.pass().await, gate.pass().await);
        one.failed(&limited(Some(Duration::from_secs(30))), 0.0);
        assert!(gate.try_pass().is_none());
        // An answer that was under way does not open it early.
        other.answered();
        assert_eq!(waited(&gate).await, Duration::from_secs(30));
    }

    #[tokio::test(start_paused = true)]
    async fn s8_4_without_a_word_the_time_doubles_and_is_bounded() {
        let gate = Gate::default();
        let mut spans = Vec::new();
        for _ in 0..9 {
            let begun = Instant::now();
            let pass = gate.pass().await;
            spans.push(begun.elapsed().as_secs());
            pass.failed(&limited(None), 1.0);
        }
        assert_eq!(spans, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn s8_4_one_goes_ahead_after_a_closing() {
        let gate = Gate::default();
        gate.pass().await.failed(&limited(Some(Duration::from_secs(1))), 0.0);
        let ahead = gate.pass().await;
        assert!(gate.try_pass().is_none());
        ahead.answered();
        assert!(gate.try_pass().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn s8_4_fewer_go_through_after_a_closing_and_more_with_each_answer() {
        let gate = Gate::default();
        let mut inside = Vec::new();
        for _ in 0..8 {
            inside.push(gate.pass().await);
        }
        let last = inside.pop().unwrap();
        last.failed(&limited(Some(Duration::from_secs(1))), 0.0);
        inside.into_iter().for_each(Pass::answered);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let through: Vec<_> = std::iter::from_fn(|| gate.try_pass()).collect();
        assert!((4..8).contains(&through.len()), "{}", through.len());
    }

    #[tokio::test(start_paused = true)]
    async fn other_errors_close_nothing_and_a_dropped_pass_makes_room() {
        let gate = Gate::default();
        let error = ModelError::Truncated { message: String::new() };
        gate.pass().await.failed(&error, 0.5);
        drop(gate.pass().await);
        let through: Vec<_> = std::iter::from_fn(|| gate.try_pass()).collect();
        assert_eq!(through.len(), WIDE as usize);
    }

    #[test]
    fn s8_4_there_is_one_gate_for_each_provider_and_key() {
        let keys = |key: &str| {
            let key = key.to_owned();
            Keys::found(move |name| (name == "OPENAI_API_KEY").then(|| key.clone()))
        };
        let gates = Gates::default();
        let same = |one: &Gate, other: &Gate| Arc::ptr_eq(&one.0, &other.0);
        let gate = gates.before(Provider::OpenAi, &keys("a"));
        assert!(same(&gate, &gates.before(Provider::OpenAi, &keys("a"))));
        assert!(!same(&gate, &gates.before(Provider::OpenAi, &keys("b"))));
        assert!(!same(&gate, &gates.before(Provider::Anthropic, &keys("a"))));
    }
}
