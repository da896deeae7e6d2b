//! The processor time of the store's writer thread.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// The store's name for the thread.
const NAME: &str = "offshoot-writer";
/// The position of the thread's start time in `/proc/<pid>/task/<tid>/stat`, counted after the
/// name.
const STARTED: usize = 19;

/// The processor time that the writer thread has used so far. Of several threads with that name
/// it is the newest: the thread of a closed store may still be ending.
pub fn cpu() -> Result<Duration> {
    let threads = fs::read_dir("/proc/self/task").context("the system does not list threads")?;
    let newest = threads.flatten().filter_map(|thread| look(&thread.path())).max();
    let (_, used) = newest.with_context(|| format!("there is no thread `{NAME}`"))?;
    Ok(Duration::from_nanos(used))
}

/// The start of a thread of the name, in ticks, and the nanoseconds it has used.
fn look(thread: &Path) -> Option<(u64, u64)> {
    let read = |file| fs::read_to_string(thread.join(file)).ok();
    if read("comm")?.trim() != NAME {
        return None;
    }
    let stat = read("stat")?;
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(STARTED)?.parse().ok()?;
    // The field of `stat`, but in nanoseconds instead of ticks.
    let used = read("schedstat")?.split_whitespace().next()?.parse().ok()?;
    Some((started, used))
}
