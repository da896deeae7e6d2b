//! What the operating system allows a daemon.

use rustix::process::{Resource, getrlimit};

/// How many files a command takes while it runs: its three pipes, what watches
/// over it, and its log.
const FILES_PER_COMMAND: u64 = 6;

/// How many files the daemon keeps for itself and its visitors.
const FILES_KEPT: u64 = 1_024;

/// The most commands that execute at once, whatever the system allows.
const MOST: u64 = 10_000;

/// How many tasks may execute at once; the rest queue.
pub(crate) fn slots() -> u64 {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let kept = FILES_KEPT.min(files / 4);
    ((files - kept) / FILES_PER_COMMAND).clamp(16, MOST)
}
