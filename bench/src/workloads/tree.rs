//! W5: a cancel that has to reach every descendant.

use std::future::Future;
use std::time::Instant;

use anyhow::Result;

use super::Open;
use crate::figure::{Figure, Metric};
use crate::measure::{Repeats, ns, settle};

/// Runs tasks under tasks, and ends them from the top.
pub trait Tree: Open {
    /// The name of a task as a parent.
    type Task: Send + Sync;

    /// Spawns an idle task, under `parent` if there is one.
    fn spawn_under(
        &mut self,
        parent: Option<&Self::Task>,
    ) -> impl Future<Output = Result<Self::Task>> + Send;

    /// Cancels `root` and everything under it, and returns once all `total` tasks are terminal.
    fn cancel(
        &mut self,
        root: &Self::Task,
        total: usize,
    ) -> impl Future<Output = Result<()>> + Send;
}

/// W5: cancels a root with `n` children.
pub async fn fan<S: Tree>(n: usize) -> Result<Vec<Figure>> {
    let mut repeats = Repeats::new();
    while repeats.more() {
        let mut system = S::open().await?;
        let root = system.spawn_under(None).await?;
        for _ in 0..n {
            system.spawn_under(Some(&root)).await?;
        }
        repeats.push(cancel(&mut system, &root, n + 1).await?);
    }
    Ok(vec![Metric::FanCancel.is(repeats.typical())])
}

/// W5: cancels the top of a chain of `n` tasks.
pub async fn chain<S: Tree>(n: usize) -> Result<Vec<Figure>> {
    let mut repeats = Repeats::new();
    while repeats.more() {
        let mut system = S::open().await?;
        let root = system.spawn_under(None).await?;
        let mut last = None;
        for _ in 1..n {
            last = Some(system.spawn_under(last.as_ref().or(Some(&root))).await?);
        }
        repeats.push(cancel(&mut system, &root, n).await?);
    }
    Ok(vec![Metric::ChainCancel.is(repeats.typical())])
}

async fn cancel<S: Tree>(system: &mut S, root: &S::Task, total: usize) -> Result<f64> {
    settle().await;
    let start = Instant::now();
    system.cancel(root, total).await?;
    Ok(ns(start.elapsed()))
}
