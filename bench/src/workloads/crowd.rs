//! W2, W3 and W8: many idle tasks, the cost of one more and their memory.

use std::future::Future;
use std::time::Instant;

use anyhow::Result;

use super::Open;
use crate::figure::{Figure, Metric};
use crate::measure::{Awake, Repeats, median, ns, resident, settle};

/// Keeps tasks alive that wait to be cancelled.
pub trait Crowd: Open {
    /// Spawns one more idle task, without a name where the system allows it.
    fn spawn_idle(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Keeps idle tasks alive under names that are unique among the living.
pub trait Named: Crowd {
    /// Spawns one more idle task of this name.
    fn spawn_named(&mut self, name: &str) -> impl Future<Output = Result<()>> + Send;

    /// Spawns `n` named tasks before the measurement.
    fn fill_named(&mut self, n: usize) -> impl Future<Output = Result<()>> + Send {
        async move {
            for i in 0..n {
                self.spawn_named(&format!("agent-{i}")).await?;
            }
            Ok(())
        }
    }
}

/// Spawns `n` tasks before a measurement.
pub async fn fill<S: Crowd>(system: &mut S, n: usize) -> Result<()> {
    for _ in 0..n {
        system.spawn_idle().await?;
    }
    Ok(())
}

/// The number of timed spawns. They add to the crowd, so few are timed when it is small.
fn samples(n: usize) -> usize {
    if n <= 100 { 25 } else { 100 }
}

/// Whether these times suffice although more were planned: some systems take a second for a
/// few.
fn enough(times: &[f64]) -> bool {
    times.len() >= 10 && times.iter().sum::<f64>() > 1e9
}

/// W2: one spawn while `n` tasks are alive.
pub async fn spawn<S: Crowd>(n: usize) -> Result<Vec<Figure>> {
    let mut repeats = Repeats::new();
    while repeats.more() {
        let mut system = S::open().await?;
        fill(&mut system, n).await?;
        settle().await;
        let mut times = Vec::with_capacity(samples(n));
        let awake = Awake::keep();
        for _ in 0..samples(n) {
            let start = Instant::now();
            system.spawn_idle().await?;
            times.push(ns(start.elapsed()));
            if enough(&times) {
                break;
            }
        }
        drop(awake);
        repeats.push(median(&mut times));
        leave(system);
    }
    Ok(vec![Metric::Spawn.is(repeats.typical())])
}

/// W3: one named spawn while `n` named tasks are alive.
pub async fn spawn_named<S: Named>(n: usize) -> Result<Vec<Figure>> {
    let mut repeats = Repeats::new();
    while repeats.more() {
        let mut system = S::open().await?;
        system.fill_named(n).await?;
        settle().await;
        let names: Vec<String> = (0..samples(n)).map(|i| format!("new-{i}")).collect();
        let mut times = Vec::with_capacity(names.len());
        let awake = Awake::keep();
        for name in &names {
            let start = Instant::now();
            system.spawn_named(name).await?;
            times.push(ns(start.elapsed()));
            if enough(&times) {
                break;
            }
        }
        drop(awake);
        repeats.push(median(&mut times));
        leave(system);
    }
    Ok(vec![Metric::NamedSpawn.is(repeats.typical())])
}

/// W8: memory of `n` idle tasks without names.
pub async fn weight<S: Crowd>(n: usize) -> Result<Vec<Figure>> {
    let mut system = S::open().await?;
    settle().await;
    let before = resident();
    fill(&mut system, n).await?;
    weigh(system, before, n).await
}

/// W8: memory of `n` idle tasks with names.
pub async fn weight_named<S: Named>(n: usize) -> Result<Vec<Figure>> {
    let mut system = S::open().await?;
    settle().await;
    let before = resident();
    system.fill_named(n).await?;
    weigh(system, before, n).await
}

async fn weigh<S>(system: S, before: f64, n: usize) -> Result<Vec<Figure>> {
    settle().await;
    let growth = resident() - before;
    leave(system);
    Ok(vec![Metric::IdleBytes.is(growth / n as f64)])
}

/// Leaves a crowd parked until the process exits: taking it down costs some systems far more than
/// the measurement, and would run into the next repetition.
fn leave<S>(system: S) {
    std::mem::forget(system);
}
