//! An agent's own clock: how long it may take, and that it stands still while the
//! agent waits for people.
//!
//! When the agent began is kept in its journal, and how long it was on hold in two
//! counters of its task: so long in all, and since then. A process that dies while
//! the agent is on hold leaves the second one behind, and the agent stays on hold
//! until it waits again or asks its model.

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

/// How long the last words may take once the time is over.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// The counter of how long an agent was on hold, in milliseconds.
const HELD: &str = "held";

/// The counter of since when it is, in milliseconds; zero if it is not.
const SINCE: &str = "held since";

/// How long an agent may take.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) length: Duration,
    state: Mutex<ClockState>,
    changed: Notify,
}

#[derive(Debug)]
struct ClockState {
    /// Until when the agent may go on, if it is not on hold.
    until: Instant,
    /// Until when its last words are waited for, once it was asked for them.
    words_until: Option<Instant>,
    /// Since when it is on hold.
    stopped: Option<Instant>,
    /// How many of its calls wait for people.
    holds: usize,
    /// Since when the store has it on hold, in milliseconds.
    noted: Option<u64>,
    /// For how long it was on hold since then.
    free: Duration,
}

impl Clock {
    /// The clock of an agent that began then; none if the time is so long that it
    /// never ends.
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

    /// How long the agent has left.
    pub(crate) fn left(&self) -> Duration {
        let state = self.state.lock();
        state.until.saturating_duration_since(state.stopped.unwrap_or_else(Instant::now))
    }

    /// How long it has taken.
    pub(crate) fn used(&self) -> Duration {
        self.length.saturating_sub(self.left())
    }

    /// Has the agent say its last words: once, however often it is asked for them.
    pub(crate) fn grant_last_words(&self) {
        let mut state = self.state.lock();
        let until = with_words(state.until.max(Instant::now()));
        state.words_until.get_or_insert(until);
    }

    /// Resolves when the agent's time is over; once it has been asked for its last
    /// words, when the time for these is.
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

    /// Stops the clock; what the store must be told, if anything.
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

    /// Tells the store how long the agent was on hold, now that it is not.
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
        // Without it the agent has less time after a crash, and no more.
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

/// Until when last words are waited for that are asked for then.
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

/// The clocks of the agents of a process that have a limited time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clocks(Arc<Mutex<HashMap<TaskId, Arc<Clock>>>>);

impl Clocks {
    /// The clock of an agent, if its time is limited.
    pub(crate) fn of(&self, agent: TaskId) -> Option<Arc<Clock>> {
        self.0.lock().get(&agent).cloned()
    }

    /// Hangs up the clock of an agent, for as long as it is at work.
    pub(crate) fn insert(&self, agent: TaskId, clock: Clock) -> ClockGuard {
        let clock = Arc::new(clock);
        self.0.lock().insert(agent, clock.clone());
        ClockGuard { clock, agent, clocks: self.clone() }
    }
}

/// The clock of an agent that is at work.
#[derive(Debug)]
pub(crate) struct ClockGuard {
    pub(crate) clock: Arc<Clock>,
    agent: TaskId,
    clocks: Clocks,
}

impl Drop for ClockGuard {
    fn drop(&mut self) {
        let mut clocks = self.clocks.0.lock();
        // Another attempt may have its own by now.
        if clocks.get(&self.agent).is_some_and(|clock| Arc::ptr_eq(clock, &self.clock)) {
            clocks.remove(&self.agent);
        }
    }
}

/// Sets a clock going again, in whatever way the wait ends.
struct Hold(Arc<Clock>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.go_on();
    }
}

/// Waits for people, which costs the agent no time.
pub(crate) async fn on_hold<T>(clocks: &Clocks, cx: &Context, wait: impl Future<Output = T>) -> T {
    let Some(clock) = clocks.of(cx.id()) else { return wait.await };
    let since = clock.stop(cx.now());
    let _hold = Hold(clock);
    if let Some(since) = since {
        // Without it a crash would take the time that was waited.
        if let Err(error) = cx.count([count(cx, SINCE, signed(since))]).await {
            tracing::debug!(task = %cx.id(), %error, "a hold was not noted");
        }
    }
    wait.await
}
