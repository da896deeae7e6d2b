//! The status of the daemon.

use serde::{Deserialize, Serialize};

/// The status of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// The protocol it speaks.
    pub wire: u32,
    /// Its process.
    pub pid: u32,
    /// The time at which it started.
    pub started_at: String,
    /// The data directory it holds.
    pub data: String,
    /// Its socket.
    pub socket: String,
    /// The memory that it uses, where the platform tells.
    pub memory_bytes: Option<u64>,
    /// The number of running tasks.
    pub running: u64,
    /// The number of waiting tasks.
    pub waiting: u64,
    /// The number of queued tasks.
    pub queued: u64,
    /// The number of ended tasks in the records.
    pub finished: u64,
    /// The number of commands that may execute at once. More queue.
    pub slots: u64,
    /// Whether the daemon has recovered every task that an earlier one left.
    pub recovered: bool,
    /// Whether each command has a cgroup of its own, or why not. `None` from a daemon of
    /// an older version.
    #[serde(default)]
    pub cgroups: Option<String>,
    /// The idle seconds after which it ends by itself.
    pub idle_seconds: u64,
    /// Its log.
    pub log: LogFile,
}

/// The daemon's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// Its path.
    pub path: String,
    /// Its size in bytes, with its older parts.
    pub bytes: u64,
    /// Its last lines.
    pub last: Vec<String>,
}
