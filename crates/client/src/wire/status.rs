//! How the daemon is.

use serde::{Deserialize, Serialize};

/// How the daemon is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// The protocol it speaks.
    pub wire: u32,
    /// Its process.
    pub pid: u32,
    /// Since when it runs.
    pub started_at: String,
    /// The data folder it holds.
    pub data: String,
    /// Where it listens.
    pub socket: String,
    /// How many bytes of memory it uses, where the platform tells.
    pub memory_bytes: Option<u64>,
    /// How many tasks execute, wait and queue.
    pub running: u64,
    /// How many wait.
    pub waiting: u64,
    /// How many queue.
    pub queued: u64,
    /// How many are kept that have ended.
    pub finished: u64,
    /// How many commands may execute at once; more queue.
    pub slots: u64,
    /// Whether everything that an earlier daemon left has been judged.
    pub recovered: bool,
    /// Whether each command has a cgroup of its own, or why not. A daemon of an
    /// older version does not say.
    #[serde(default)]
    pub cgroups: Option<String>,
    /// After how many idle seconds it ends by itself.
    pub idle_seconds: u64,
    /// Its log.
    pub log: LogFile,
}

/// The daemon's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// Where it is.
    pub path: String,
    /// How many bytes it has, older parts included.
    pub bytes: u64,
    /// Its last lines.
    pub last: Vec<String>,
}
