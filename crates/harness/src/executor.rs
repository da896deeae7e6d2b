//! The executor of the simulation: one thread, one task at a time, in random order.
//!
//! Time stands still while a task is ready, and jumps to the next timer when none is, so a
//! simulated hour costs nothing. Every difference between two executions comes from one stream
//! of numbers: the same seed gives the same execution.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use offshoot_core::Stamp;
use offshoot_runtime::{BoxFuture, Environment};
use parking_lot::Mutex;

use crate::rng::Rng;

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const OVER: u8 = 2;

/// The result of a step of the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// It polled a task.
    Polled,
    /// No task was ready, so the time moved to the next timer.
    Advanced,
    /// No task is ready, and no timer is set.
    Idle,
    /// A task panicked.
    Panicked,
}

/// Owns the tasks. Dropping it drops them where they are, as a crash does.
#[derive(Debug)]
pub struct Executor {
    core: Arc<Core>,
    tasks: Vec<Option<Task>>,
    free: Vec<usize>,
}

/// The world of the simulation, as tasks see it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sim(Arc<Core>);

struct Task {
    future: BoxFuture<()>,
    wakeup: Arc<Wakeup>,
    waker: Waker,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Task")
    }
}

#[derive(Debug)]
struct Core(Mutex<State>);

struct State {
    ready: Vec<usize>,
    spawned: Vec<BoxFuture<()>>,
    timers: BTreeMap<(Duration, u64), Waker>,
    armed: u64,
    now: Duration,
    epoch: Stamp,
    rng: Rng,
    steps: u64,
    dead: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("now", &self.now).field("steps", &self.steps).finish()
    }
}

#[derive(Debug)]
struct Wakeup {
    slot: usize,
    core: Arc<Core>,
    state: AtomicU8,
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let queued =
            self.state.compare_exchange(IDLE, QUEUED, Ordering::Relaxed, Ordering::Relaxed);
        if queued.is_ok() {
            self.core.0.lock().ready.push(self.slot);
        }
    }
}

impl Executor {
    /// An executor whose choices come from `rng` and whose wall clock starts at `epoch`.
    pub fn new(rng: Rng, epoch: Stamp) -> Self {
        let state = State {
            ready: Vec::new(),
            spawned: Vec::new(),
            timers: BTreeMap::new(),
            armed: 0,
            now: Duration::ZERO,
            epoch,
            rng,
            steps: 0,
            dead: false,
        };
        Self { core: Arc::new(Core(Mutex::new(state))), tasks: Vec::new(), free: Vec::new() }
    }

    /// The world of its tasks.
    pub fn sim(&self) -> Sim {
        Sim(self.core.clone())
    }

    /// Polls one task, or moves the clock.
    pub fn step(&mut self) -> Stepped {
        self.adopt();
        let slot = {
            let mut state = self.core.0.lock();
            state.steps += 1;
            if state.ready.is_empty() {
                let woken = state.advance();
                // A wake takes the lock.
                drop(state);
                let stepped = if woken.is_empty() { Stepped::Idle } else { Stepped::Advanced };
                woken.into_iter().for_each(Waker::wake);
                return stepped;
            }
            let State { ready, rng, .. } = &mut *state;
            let at = rng.below(ready.len());
            ready.swap_remove(at)
        };
        let Some(task) = self.tasks.get_mut(slot).and_then(Option::as_mut) else {
            return Stepped::Polled;
        };
        task.wakeup.state.store(IDLE, Ordering::Relaxed);
        let mut context = Context::from_waker(&task.waker);
        let future = &mut task.future;
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context))) {
            Ok(Poll::Pending) => Stepped::Polled,
            Ok(Poll::Ready(())) => {
                self.end(slot);
                Stepped::Polled
            }
            Err(_) => {
                self.end(slot);
                Stepped::Panicked
            }
        }
    }

    /// The number of tasks that have not ended.
    pub fn live(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    fn adopt(&mut self) {
        let spawned = {
            let mut state = self.core.0.lock();
            if state.spawned.is_empty() {
                return;
            }
            std::mem::take(&mut state.spawned)
        };
        for future in spawned {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.tasks.push(None);
                self.tasks.len() - 1
            });
            let state = AtomicU8::new(QUEUED);
            let wakeup = Arc::new(Wakeup { slot, core: self.core.clone(), state });
            let waker = wakeup.clone().into();
            self.tasks[slot] = Some(Task { future, wakeup, waker });
            self.core.0.lock().ready.push(slot);
        }
    }

    fn end(&mut self, slot: usize) {
        if let Some(task) = self.tasks[slot].take() {
            task.wakeup.state.store(OVER, Ordering::Relaxed);
            self.free.push(slot);
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let (spawned, timers) = {
            let mut state = self.core.0.lock();
            state.dead = true;
            (std::mem::take(&mut state.spawned), std::mem::take(&mut state.timers))
        };
        // A drop may spawn tasks and set timers; the dead state accepts neither.
        drop(spawned);
        drop(timers);
        self.tasks.clear();
    }
}

impl State {
    /// Moves the time to the next timer. Timers of the same moment wake together, in random
    /// order.
    fn advance(&mut self) -> Vec<Waker> {
        let Some((&(due, _), _)) = self.timers.first_key_value() else { return Vec::new() };
        self.now = self.now.max(due);
        let mut woken = Vec::new();
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= self.now
        {
            woken.push(entry.remove());
        }
        woken
    }
}

impl Sim {
    /// Executes a future to its end.
    pub fn go(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.spawn(Box::pin(future));
    }

    /// Draws from the one stream of numbers.
    pub fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.0.0.lock().rng)
    }

    /// The number of steps taken.
    pub fn steps(&self) -> u64 {
        self.0.0.lock().steps
    }

    /// Yields this many times.
    pub async fn pause(&self, times: usize) {
        for _ in 0..times {
            let mut paused = false;
            std::future::poll_fn(|cx| {
                if paused {
                    return Poll::Ready(());
                }
                paused = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        }
    }
}

impl Environment for Sim {
    fn spawn(&self, future: BoxFuture<()>) {
        let mut state = self.0.0.lock();
        if state.dead {
            drop(state);
            return drop(future);
        }
        state.spawned.push(future);
    }

    fn wall(&self) -> Stamp {
        let state = self.0.0.lock();
        state.epoch.after(state.now)
    }

    fn monotonic(&self) -> Duration {
        self.0.0.lock().now
    }

    fn sleep(&self, span: Duration) -> BoxFuture<()> {
        let due = self.monotonic().saturating_add(span);
        Box::pin(Sleep { sim: self.clone(), due, armed: None })
    }

    fn random(&self) -> u128 {
        self.draw(|rng| u128::from(rng.bits()) << 64 | u128::from(rng.bits()))
    }
}

/// A timer, removed when it is dropped.
struct Sleep {
    sim: Sim,
    due: Duration,
    armed: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let core = self.sim.0.clone();
        let mut state = core.0.lock();
        if state.now >= self.due {
            return Poll::Ready(());
        }
        if state.dead {
            return Poll::Pending;
        }
        let armed = *self.armed.get_or_insert_with(|| {
            state.armed += 1;
            state.armed
        });
        let before = state.timers.insert((self.due, armed), cx.waker().clone());
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(armed) = self.armed {
            let timer = self.sim.0.0.lock().timers.remove(&(self.due, armed));
            drop(timer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64) -> (Vec<u32>, Duration) {
        let mut executor = Executor::new(Rng::new(seed), Stamp::from_millis(0));
        let sim = executor.sim();
        let order = Arc::new(Mutex::new(Vec::new()));
        for number in 0..8 {
            let (order, sim_inside) = (order.clone(), sim.clone());
            sim.go(async move {
                sim_inside.sleep(Duration::from_secs(u64::from(number % 3))).await;
                order.lock().push(number);
            });
        }
        while executor.step() != Stepped::Idle {}
        assert_eq!(executor.live(), 0);
        let order = order.lock().clone();
        (order, sim.monotonic())
    }

    #[test]
    fn the_same_seed_is_the_same_execution() {
        assert_eq!(run(7), run(7));
        assert_ne!(run(7).0, run(8).0);
    }

    #[test]
    fn time_jumps_to_the_last_timer_and_no_further() {
        assert_eq!(run(1).1, Duration::from_secs(2));
    }
}
