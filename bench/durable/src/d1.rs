//! D1: lifecycles with N concurrent callers, on disk with fsync, in memory, and with one
//! transaction for each operation.

use std::time::Duration;

use anyhow::Result;
use offshoot_bench::figure::{Figure, Metric};
use offshoot_bench::measure::ns;

use crate::callers::{Until, on_disk, work};
use crate::folder;

/// The duration of each of the three measurements.
pub const EACH: Duration = Duration::from_secs(4);

/// Spawns, awaits and acknowledges with `n` callers for the time `each` on each kind of store.
pub async fn run(n: usize, each: Duration) -> Result<Vec<Figure>> {
    let until = Until::Elapsed(each);
    let home = folder::fresh()?;
    let volatile = work(on_disk(&home.path().join("volatile")).in_memory(), n, until).await?;
    let durable = work(on_disk(&home.path().join("durable")), n, until).await?;
    let unbatched = work(on_disk(&home.path().join("unbatched")).group(1), n, until).await?;
    Ok(vec![
        Metric::DurableRate.is(durable.rate()),
        Metric::VolatileRate.is(volatile.rate()),
        Metric::UnbatchedRate.is(unbatched.rate()),
        Metric::WriterCpu.is(ns(durable.writer) / durable.lifecycles as f64),
    ])
}
