//! D3: the bytes that a finished task with an empty result leaves in the database.

use anyhow::{Result, ensure};
use offshoot_bench::figure::{Figure, Metric};

use crate::callers::{Until, on_disk, work};
use crate::folder;

/// The number of callers, so large that an fsync for each commit stays within the time limit.
const CALLERS: usize = 100;

/// The growth over `n` tasks that were spawned, ended and acknowledged. The store is closed
/// before each measurement, so that all of it is in the database and none in the log beside it.
pub async fn run(n: usize) -> Result<Vec<Figure>> {
    let home = folder::fresh()?;
    work(on_disk(home.path()), 1, Until::Begun(1)).await?;
    let before = folder::size(home.path())?;
    let done = work(on_disk(home.path()), CALLERS, Until::Begun(n)).await?;
    ensure!(done.lifecycles == n, "{} of {n} tasks were finished", done.lifecycles);
    let growth = folder::size(home.path())?.saturating_sub(before);
    Ok(vec![Metric::StoredBytes.is(growth as f64 / n as f64)])
}
