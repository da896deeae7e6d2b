//! W1 and W9: tasks that end at once, and the delivery of their results.

use std::future::Future;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::Open;
use crate::figure::{Figure, Metric};
use crate::measure::{Repeats, ns, resident};

/// Spawns tasks and takes their results.
pub trait Lifecycle: Open {
    /// Spawns a task that ends at once.
    fn spawn(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// Waits until there may be results, then takes and acknowledges them. Returns how many.
    fn drain(&mut self) -> impl Future<Output = Result<usize>> + Send;
}

/// W1: spawns `n` tasks, then takes all results.
pub async fn together<S: Lifecycle>(n: usize) -> Result<Vec<Figure>> {
    let mut repeats = Repeats::new();
    while repeats.more() {
        let mut system = S::open().await?;
        let start = Instant::now();
        for _ in 0..n {
            system.spawn().await?;
        }
        take(&mut system, n).await?;
        repeats.push(ns(start.elapsed()) / n as f64);
    }
    Ok(vec![Metric::Lifecycle.is(repeats.typical())])
}

/// W9: spawns the next task after the result of the one before is taken, `n` times.
pub async fn one_by_one<S: Lifecycle>(n: usize) -> Result<Vec<Figure>> {
    // The first allocations stay for all later tasks, so they are no growth.
    const WARM_UP: usize = 100;
    let mut system = S::open().await?;
    for _ in 0..WARM_UP {
        system.spawn().await?;
        take(&mut system, 1).await?;
    }
    let before = resident();
    let start = Instant::now();
    for _ in 0..n {
        system.spawn().await?;
        take(&mut system, 1).await?;
    }
    let total = ns(start.elapsed());
    let growth = resident() - before;
    Ok(vec![Metric::Sequential.is(total), Metric::SequentialGrowth.is(growth)])
}

async fn take<S: Lifecycle>(system: &mut S, expected: usize) -> Result<()> {
    let mut taken = 0;
    while taken < expected {
        taken += system.drain().await?;
    }
    ensure!(taken == expected, "{taken} results for {expected} tasks");
    Ok(())
}
