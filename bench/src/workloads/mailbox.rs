//! W6: messages to one task.

use std::future::Future;
use std::time::Instant;

use anyhow::{Context, Result};
use tokio::sync::oneshot;

use super::crowd::{Crowd, fill};
use crate::figure::{Figure, Metric};
use crate::measure::{Repeats, settle};

/// The text of every message.
pub const TEXT: &str = "hello";

/// Delivers messages to a running task.
pub trait Mailbox: Crowd {
    /// The name of the receiver.
    type Task: Send + Sync;

    /// Spawns a task that consumes `expected` messages and then reports through `consumed`.
    fn spawn_receiver(
        &mut self,
        expected: usize,
        consumed: oneshot::Sender<()>,
    ) -> impl Future<Output = Result<Self::Task>> + Send;

    /// Sends `count` messages from one sender, as pipelined as the system allows.
    fn send(&mut self, to: &Self::Task, count: usize) -> impl Future<Output = Result<()>> + Send;
}

/// W6: messages per second from the first send until the last is consumed, with `n` others alive.
pub async fn deliver<S: Mailbox>(n: usize) -> Result<Vec<Figure>> {
    const PROBE: usize = 200;
    const MOST: usize = 500_000;
    const SPAN: f64 = 0.2;
    let mut system = S::open().await?;
    fill(&mut system, n).await?;
    settle().await;
    // Systems differ by orders of magnitude; each gets about a fifth of a second of messages.
    let probed = deliver_all(&mut system, PROBE).await?;
    let count = ((PROBE as f64 * SPAN / probed) as usize).clamp(PROBE, MOST);
    let mut repeats = Repeats::new();
    while repeats.more() {
        repeats.push(deliver_all(&mut system, count).await?);
    }
    std::mem::forget(system);
    Ok(vec![Metric::Messages.is(count as f64 / repeats.typical())])
}

/// Seconds from the first send until all are consumed.
async fn deliver_all<S: Mailbox>(system: &mut S, count: usize) -> Result<f64> {
    let (consumed, all_consumed) = oneshot::channel();
    let receiver = system.spawn_receiver(count, consumed).await?;
    let start = Instant::now();
    system.send(&receiver, count).await?;
    all_consumed.await.context("the receiver ended before it had every message")?;
    Ok(start.elapsed().as_secs_f64())
}
