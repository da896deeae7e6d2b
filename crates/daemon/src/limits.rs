//! What the operating system allows a daemon.

use std::sync::OnceLock;

use rustix::process::{Resource, getrlimit};

/// How many files a command takes while it runs: its three pipes, what watches
/// over it, and its log.
const FILES_PER_COMMAND: u64 = 6;

/// How many files the daemon keeps for itself and its visitors.
const FILES_KEPT: u64 = 1_024;

/// The most commands that execute at once, whatever the system allows.
const MOST: u64 = 10_000;

/// How many commands may be there for each that executes, where there are few.
/// Those that wait for others need no slot, but keep their files: so all slots
/// can be at work at the ends of chains of so many commands.
const CHAIN: u64 = 4;

/// For how many commands that wait files are kept, where there are enough.
const WAITERS: u64 = 1_024;

/// The soft limit on open files that the daemon was started with.
static OPEN_FILES: OnceLock<Option<u64>> = OnceLock::new();

/// Notes how many files this process may have open, before it raises that limit
/// for itself: its commands start with this one.
pub(crate) fn note_open_files() {
    OPEN_FILES.get_or_init(|| getrlimit(Resource::Nofile).current);
}

/// How many files a command may have open at first, if that was noted.
pub(crate) fn open_files_at_start() -> Option<u64> {
    OPEN_FILES.get().copied().flatten()
}

/// How many commands a daemon may have at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How many may execute; the rest queue.
    pub(crate) slots: u64,
    /// How many more may wait for others.
    pub(crate) waiters: u64,
    /// How many connections may wait for a request.
    pub(crate) connections: u64,
    /// How many files the system allows.
    pub(crate) files: u64,
}

impl Limits {
    /// What the system allows this process.
    pub(crate) fn of_system() -> Self {
        Self::of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
    }

    fn of(files: u64) -> Self {
        let kept = FILES_KEPT.min(files / 4);
        let commands = ((files - kept) / FILES_PER_COMMAND).max(2 * CHAIN);
        let waiters = WAITERS.min(commands - commands / CHAIN);
        let slots = (commands - waiters).min(MOST);
        Self { slots, waiters: commands - slots, connections: kept / 2, files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_executes_and_what_waits_fits_into_the_files() {
        for files in [64, 256, 1_024, 4_096, 65_536, 1 << 20] {
            let Limits { slots, waiters, .. } = Limits::of(files);
            assert!(slots >= 2 && waiters >= WAITERS.min((CHAIN - 1) * slots), "{files}");
            assert!((slots + waiters) * FILES_PER_COMMAND <= files, "{files}");
        }
        assert_eq!(Limits::of(256).slots, 8);
        assert_eq!(Limits::of(u64::MAX).slots, MOST);
    }
}
