//! D1: lifecycles with N concurrent callers, on disk with fsync, in memory, and with one
//! transaction for each operation.

use std::time::Duration;

use anyhow::Result;
use offshoot_bench::figure::{Figure, Metric};
use offshoot_bench::measure::ns;

use crate::callers::{Until, on_disk, work};
use crate::folder;

/// How long each of the three is at work.
const EACH: Until = Until::Elapsed(Duration::from_secs(4));

/// Spawns, awaits and acknowledges with `n` callers on each kind of store.
pub async fn run(n: usize) -> Result<Vec<Figure>> {
    let home = folder::fresh()?;
    let volatile = work(on_disk(&home.path().join("volatile")).in_memory(), n, EACH).await?;
    let durable = work(on_disk(&home.path().join("durable")), n, EACH).await?;
    let unbatched = work(on_disk(&home.path().join("unbatched")).group(1), n, EACH).await?;
    Ok(vec![
        Metric::DurableRate.is(durable.rate()),
        Metric::VolatileRate.is(volatile.rate()),
        Metric::UnbatchedRate.is(unbatched.rate()),
        Metric::WriterCpu.is(ns(durable.writer) / durable.lifecycles as f64),
    ])
}
