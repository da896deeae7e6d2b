//! W7: the time from a task's end until its waiter runs.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use tokio::sync::oneshot;

use super::Open;
use crate::figure::{Figure, Metric};
use crate::measure::median;

/// The gate that the body of a measured task waits at. The task's end begins when it passes.
pub struct Gate {
    opened: oneshot::Receiver<()>,
    passed: Stamp,
}

impl Gate {
    /// Waits until the gate opens and records the time. The task ends right after.
    pub async fn pass(self) {
        // A dropped opener means that the measurement is over.
        if self.opened.await.is_ok() {
            self.passed.mark();
        }
    }
}

/// A point in time that one task records and another reads, for less than the cost of a
/// channel.
#[derive(Clone)]
struct Stamp {
    origin: Instant,
    nanos: Arc<AtomicU64>,
}

impl Stamp {
    fn new() -> Self {
        Self { origin: Instant::now(), nanos: Arc::new(AtomicU64::new(0)) }
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn mark(&self) {
        self.nanos.store(self.now(), Ordering::Release);
    }

    fn since(&self) -> u64 {
        self.now().saturating_sub(self.nanos.load(Ordering::Acquire))
    }
}

/// Lets one task wait for another's end.
pub trait Wake: Open {
    /// The name of the task to wait for.
    type Task: Send;

    /// Spawns a task that passes `gate` and ends.
    fn spawn_gated(&mut self, gate: Gate) -> impl Future<Output = Result<Self::Task>> + Send;

    /// A future that resolves once the task's end is known to the waiter.
    fn waiter(&mut self, task: Self::Task) -> impl Future<Output = Result<()>> + Send + use<Self>;

    /// Removes the remains of a finished wait, so that the next one starts alike.
    fn clear(&mut self) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
}

/// W7: from a task's end until its parked waiter runs.
pub async fn latency<S: Wake + 'static>() -> Result<Vec<Figure>> {
    const WARM_UP: usize = 200;
    const ROUNDS: usize = 3_000;
    let mut system = S::open().await?;
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..WARM_UP + ROUNDS {
        let took = once(&mut system).await?;
        if round >= WARM_UP {
            times.push(took as f64);
        }
    }
    Ok(vec![Metric::Wake.is(median(&mut times))])
}

async fn once<S: Wake + 'static>(system: &mut S) -> Result<u64> {
    let passed = Stamp::new();
    let (open, opened) = oneshot::channel();
    let task = system.spawn_gated(Gate { opened, passed: passed.clone() }).await?;

    let parked = Arc::new(AtomicBool::new(false));
    let waiter = system.waiter(task);
    let waiting = tokio::spawn({
        let parked = Arc::clone(&parked);
        async move {
            let mut waiter = pin!(waiter);
            poll_fn(|cx| {
                let poll = waiter.as_mut().poll(cx);
                if poll.is_pending() {
                    parked.store(true, Ordering::Release);
                }
                poll
            })
            .await?;
            anyhow::Ok(passed.since())
        }
    });
    // A wake-up can only be measured on a waiter that sleeps.
    while !parked.load(Ordering::Acquire) && !waiting.is_finished() {
        tokio::task::yield_now().await;
    }
    open.send(()).ok().context("the task ended before its gate opened")?;
    let took = waiting.await??;
    system.clear().await?;
    Ok(took)
}
