//! The limits of a daemon, from what the operating system allows.

use std::sync::OnceLock;

use rustix::process::{Resource, getrlimit};

/// The files of a running command: its three pipes, its supervision, and its log.
const FILES_PER_COMMAND: u64 = 6;

/// The files that the daemon keeps for itself and its connections.
const FILES_KEPT: u64 = 1_024;

/// The most commands that execute at once, even if the system allows more.
const MOST: u64 = 10_000;

/// The commands for each executing one, where files are few. A command that waits needs no
/// slot, but keeps its files. So all slots can be at the ends of chains of this length.
const CHAIN: u64 = 4;

/// The waiting commands for which files are kept, where there are enough.
const WAITERS: u64 = 1_024;

/// The soft limit on open files with which the daemon was started.
static OPEN_FILES: OnceLock<Option<u64>> = OnceLock::new();

/// Notes the limit on open files before the daemon raises it for itself. Its commands start
/// with the noted limit.
pub(crate) fn note_open_files() {
    OPEN_FILES.get_or_init(|| getrlimit(Resource::Nofile).current);
}

/// The noted limit on open files.
pub(crate) fn open_files_at_start() -> Option<u64> {
    OPEN_FILES.get().copied().flatten()
}

/// The most commands and connections of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The commands that may execute; the rest queue.
    pub(crate) slots: u64,
    /// The commands that may wait besides.
    pub(crate) waiters: u64,
    /// The connections that may wait for a request.
    pub(crate) connections: u64,
    /// The files that the system allows.
    pub(crate) files: u64,
}

impl Limits {
    /// The limits of this process.
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
