//! The clock of an agent with a time limit. It stops while the agent waits for people.
//!
//! The agent's journal has its start time. Two counters of its task have the time on
//! hold: the total of all holds that ended, and the start of the current hold. If a
//! process dies during a hold, the second counter stays, and the agent stays on hold
//! until it waits again or calls its model.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use hashbrown::HashMap;
use offshoot_core::{Owner, Stamp, TaskId};
use offshoot_runtime::{Context, Error};
use offshoot_store::{Counter, CounterChange};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::conversation::Closing;

/// The time for the last words after the time limit.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// The counter of an agent's total time on hold, in milliseconds.
const HELD: &str = "held";

/// The counter with the start of the current hold, in milliseconds; zero without one.
const SINCE: &str = "held since";

/// The clock of an agent.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) length: Duration,
    state: Mutex<ClockState>,
    changed: Notify,
}

#[derive(Debug)]
struct ClockState {
    /// The deadline of the agent, unless it is on hold.
    until: Instant,
    /// The deadline of its last words, once they are requested.
    words_until: Option<Instant>,
    /// The start of the current hold.
    stopped: Option<Instant>,
    /// The number of its calls that wait for people.
    holds: usize,
    /// The start of the hold that the store has, in milliseconds.
    noted: Option<u64>,
    /// The time on hold since then.
    free: Duration,
}

impl Clock {
    /// Starts the clock of an agent that began at this time. Returns `None` if the limit
    /// is too long to be reached.
    pub(crate) async fn start(
        cx: &Context,
        length: Duration,
        began: Stamp,
    ) -> Result<Option<Self>, Error> {
        let held = Duration::from_millis(cx.counted(cx.id(), HELD).await?);
        let noted = Some(cx.counted(cx.id(), SINCE).await?).filter(|since| *since > 0);
        let (now, instant) = (cx.now(), Instant::now());
        let free = noted.map_or(Duration::ZERO, |since| {
            Duration::from_millis(millis(now).saturating_sub(since))
        });
        let used = now.since(began).saturating_sub(held).saturating_sub(free);
        let until = instant.checked_add(length.saturating_sub(used));
        Ok(until.map(|until| {
            let stopped = noted.map(|_| instant);
            let state = ClockState { until, words_until: None, stopped, holds: 0, noted, free };
            Self { length, state: Mutex::new(state), changed: Notify::new() }
        }))
    }

    /// The time that the agent has left.
    pub(crate) fn left(&self) -> Duration {
        let state = self.state.lock();
        state.until.saturating_duration_since(state.stopped.unwrap_or_else(Instant::now))
    }

    /// The time that the agent has used.
    pub(crate) fn used(&self) -> Duration {
        self.length.saturating_sub(self.left())
    }

    /// Starts the time for the agent's last words. Later calls have no effect.
    pub(crate) fn grant_last_words(&self) {
        let mut state = self.state.lock();
        let until = with_words(state.until.max(Instant::now()));
        state.words_until.get_or_insert(until);
    }

    /// Waits until the agent's time is over, or the time for its last words once they
    /// are requested.
    pub(crate) async fn over(&self, closing: Closing) {
        loop {
            let changed = self.changed.notified();
            let due = {
                let state = self.state.lock();
                match closing {
                    Closing::None => state.stopped.is_none().then_some(state.until),
                    _ => Some(state.words_until.unwrap_or_else(|| with_words(state.until))),
                }
            };
            match due {
                None => changed.await,
                Some(due) => {
                    let over = std::pin::pin!(tokio::time::sleep_until(due));
                    select(over, std::pin::pin!(changed)).await;
                    if due <= Instant::now() {
                        return;
                    }
                }
            }
        }
    }

    /// Stops the clock. Returns the start of the hold if the store does not have it yet.
    fn stop(&self, now: Stamp) -> Option<u64> {
        let mut state = self.state.lock();
        state.stopped.get_or_insert_with(Instant::now);
        state.holds += 1;
        let since = millis(now).max(1);
        if state.noted.is_some() {
            return None;
        }
        state.noted = Some(since);
        state.noted
    }

    fn go_on(&self) {
        let mut state = self.state.lock();
        state.holds = state.holds.saturating_sub(1);
        if state.holds == 0 {
            state.run();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Records the time of an ended hold in the store.
    pub(crate) async fn settle(&self, cx: &Context) {
        let (since, free) = {
            let mut state = self.state.lock();
            if state.holds > 0 {
                return;
            }
            state.run();
            let Some(since) = state.noted.take() else { return };
            (since, std::mem::take(&mut state.free))
        };
        self.changed.notify_waiters();
        let free = u64::try_from(free.as_millis()).unwrap_or(u64::MAX);
        let counts = [(HELD, signed(free)), (SINCE, -signed(since))];
        // If this fails, the agent has less time after a crash, never more.
        if let Err(error) = cx.count(counts.map(|(name, by)| count(cx, name, by))).await {
            tracing::debug!(task = %cx.id(), %error, "the end of a hold was not noted");
        }
    }
}

impl ClockState {
    fn run(&mut self) {
        if let Some(stopped) = self.stopped.take() {
            let span = stopped.elapsed();
            self.until = self.until.checked_add(span).unwrap_or(self.until);
            self.free = self.free.saturating_add(span);
        }
    }
}

/// The deadline of last words that are requested at this time.
fn with_words(until: Instant) -> Instant {
    until.checked_add(LAST_WORDS).unwrap_or(until)
}

fn millis(at: Stamp) -> u64 {
    u64::try_from(at.as_millis()).unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(cx: &Context, name: &str, by: i64) -> CounterChange {
    let counter = Counter { owner: Owner::Task(cx.id()), name: name.into() };
    CounterChange { counter, by, limit: None }
}

/// The clocks of the agents of a process that have a time limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks(Arc<Mutex<HashMap<TaskId, Arc<Clock>>>>);

impl Clocks {
    /// The clock of an agent, if its time is limited.
    pub(crate) fn of(&self, agent: TaskId) -> Option<Arc<Clock>> {
        self.0.lock().get(&agent).cloned()
    }

    /// Registers the clock of an agent until the guard is dropped.
    pub(crate) fn insert(&self, agent: TaskId, clock: Clock) -> ClockGuard {
        let clock = Arc::new(clock);
        self.0.lock().insert(agent, clock.clone());
        ClockGuard { clock, agent, clocks: self.clone() }
    }
}

/// The registration of a clock. Dropping it removes the clock.
#[derive(Debug)]
pub(crate) struct ClockGuard {
    pub(crate) clock: Arc<Clock>,
    agent: TaskId,
    clocks: Clocks,
}

impl Drop for ClockGuard {
    fn drop(&mut self) {
        let mut clocks = self.clocks.0.lock();
        // Another attempt may have registered its own clock.
        if clocks.get(&self.agent).is_some_and(|clock| Arc::ptr_eq(clock, &self.clock)) {
            clocks.remove(&self.agent);
        }
    }
}

/// A hold of a clock. Dropping it lets the clock run again.
struct Hold(Arc<Clock>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.go_on();
    }
}

/// Waits for people while the agent's clock is stopped.
pub(crate) async fn on_hold<T>(clocks: &Clocks, cx: &Context, wait: impl Future<Output = T>) -> T {
    let Some(clock) = clocks.of(cx.id()) else { return wait.await };
    let since = clock.stop(cx.now());
    let _hold = Hold(clock);
    if let Some(since) = since {
        // Without it a crash would charge the agent for the wait.
        if let Err(error) = cx.count([count(cx, SINCE, signed(since))]).await {
            tracing::debug!(task = %cx.id(), %error, "a hold was not noted");
        }
    }
    wait.await
}
