//! D2: open a directory with N unfinished tasks among ten times as many.

use std::time::Instant;

use anyhow::{Result, ensure};
use offshoot::core::Phase;
use offshoot::{BodyError, Runtime};
use offshoot_bench::figure::{Figure, Metric};
use offshoot_bench::measure::ns;

use crate::callers::{PATIENCE, on_disk};
use crate::{folder, stored};

/// The number of stored tasks for each unfinished one.
const STORED: usize = 10;

/// Stores the tasks, then times the opening until a spawn is accepted, and recovery from when the
/// runtime is open until all `n` are judged. The file is warm: it was just written.
pub async fn run(n: usize) -> Result<Vec<Figure>> {
    let home = folder::fresh()?;
    stored::fill(on_disk(home.path()), n * STORED, STORED).await?;

    let started = Instant::now();
    let runtime = Runtime::builder(on_disk(home.path())).open().await?;
    let opened = Instant::now();
    let session = runtime.session("new").await?;
    session.spawn_ephemeral(|_cx| async { Ok::<_, BodyError>(()) }).await?;
    let accepted = started.elapsed();
    runtime.recovered().await;
    let judged = opened.elapsed();

    let lost = runtime.counts().await?.of(Phase::Lost);
    ensure!(lost == n as u64, "{lost} of {n} unfinished tasks were judged");
    runtime.shutdown(PATIENCE).await?;
    Ok(vec![
        Metric::Open.is(ns(accepted)),
        Metric::Adjudication.is(n as f64 / judged.as_secs_f64()),
    ])
}
