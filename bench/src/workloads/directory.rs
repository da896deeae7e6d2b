//! W4: look-ups while many tasks are alive.

use std::future::Future;
use std::hint::black_box;

use anyhow::{Result, ensure};

use super::Open;
use crate::figure::{Figure, Metric};
use crate::measure::{Laps, settle};

/// The number of rows of a page.
pub const PAGE: usize = 50;

/// Answers look-ups.
pub trait Directory: Open {
    /// The name of a task in a look-up.
    type Id: Send + Sync;
    /// The record of one task.
    type Row: Send;

    /// Spawns `n` tasks and returns their ids.
    fn fill(&mut self, n: usize) -> impl Future<Output = Result<Vec<Self::Id>>> + Send;

    /// One task by its id.
    fn get(&mut self, id: &Self::Id) -> impl Future<Output = Result<Option<Self::Row>>> + Send;

    /// The first [`PAGE`] tasks.
    fn page(&mut self) -> impl Future<Output = Result<Vec<Self::Row>>> + Send;

    /// The number of tasks in each state; the first is the number of live ones.
    fn counts(&mut self) -> impl Future<Output = Result<[usize; 4]>> + Send;
}

/// W4: get one, the first page, the counts, with `n` tasks alive.
pub async fn look_up<S: Directory>(n: usize) -> Result<Vec<Figure>> {
    // A prime step visits the ids in an order that neither caches nor maps favour.
    const STEP: usize = 7_919;
    let mut system = S::open().await?;
    let ids = system.fill(n).await?;
    settle().await;

    let mut at = 0;
    let mut get = Laps::new();
    while let Some(calls) = get.batch() {
        for _ in 0..calls {
            at = (at + STEP) % n;
            let row = black_box(system.get(&ids[at]).await?);
            ensure!(row.is_some(), "a living task was not found");
        }
        get.done();
    }

    let mut page = Laps::new();
    while let Some(calls) = page.batch() {
        for _ in 0..calls {
            let rows = black_box(system.page().await?);
            ensure!(rows.len() == PAGE.min(n), "a page of {} rows", rows.len());
        }
        page.done();
    }

    let mut counts = Laps::new();
    while let Some(calls) = counts.batch() {
        for _ in 0..calls {
            let states = black_box(system.counts().await?);
            ensure!(states[0] == n, "{} of {n} tasks counted as living", states[0]);
        }
        counts.done();
    }

    std::mem::forget(system);
    Ok(vec![
        Metric::Get.is(get.per_call()),
        Metric::Page.is(page.per_call()),
        Metric::Counts.is(counts.per_call()),
    ])
}
