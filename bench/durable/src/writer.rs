//! The processor time of the store's writer thread.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// What the store calls the thread.
const NAME: &str = "offshoot-writer";
/// Where `/proc/<pid>/task/<tid>/stat` says when the thread started, counted after the name.
const STARTED: usize = 19;

/// The processor time that the writer thread has used so far. With several of that name it is the
/// newest: the thread of a store that was closed may not be quite gone.
pub fn cpu() -> Result<Duration> {
    let threads = fs::read_dir("/proc/self/task").context("the system does not list threads")?;
    let newest = threads.flatten().filter_map(|thread| look(&thread.path())).max();
    let (_, used) = newest.with_context(|| format!("there is no thread `{NAME}`"))?;
    Ok(Duration::from_nanos(used))
}

/// When a thread of the name was started, in ticks, and the nanoseconds it has used.
fn look(thread: &Path) -> Option<(u64, u64)> {
    let read = |file| fs::read_to_string(thread.join(file)).ok();
    if read("comm")?.trim() != NAME {
        return None;
    }
    let stat = read("stat")?;
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(STARTED)?.parse().ok()?;
    // As `stat` has it, but in nanoseconds instead of ticks.
    let used = read("schedstat")?.split_whitespace().next()?.parse().ok()?;
    Some((started, used))
}
