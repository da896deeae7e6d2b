//! Resource limits of a confined program.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Processes and threads that a confined program may add to those on the system.
const PROCESSES: u64 = 4_096;

/// Open files of one process.
const OPEN_FILES: u64 = 65_536;

/// The resource limits of a confined program and of each of its processes.
///
/// A limit that is not set has a default. Core dumps are always off, and the
/// kernel ends confined programs first when memory runs out.
///
/// ```
/// use offshoot_sandbox::ResourceLimits;
///
/// let limits = ResourceLimits::default().processes(256).memory(2 << 30);
/// assert!(limits.to_string().contains("256 processes"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResourceLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_open_files: Option<u64>,
}

impl ResourceLimits {
    /// Limits the processes and threads; 4,096 by default.
    ///
    /// In a user namespace of its own a program has exactly this number.
    /// Otherwise Linux counts processes by user, and the limit is therefore set to the number of tasks on the system when the program
    /// starts plus this number, and never to more than three quarters of what
    /// the user may have. Linux does not enforce it for root.
    #[must_use]
    pub fn processes(mut self, count: u64) -> Self {
        self.processes = Some(count);
        self
    }

    /// Limits the private writable memory of each process, in bytes
    /// (`RLIMIT_DATA`).
    ///
    /// By default it is the memory of the machine, and a program may lift the
    /// limit for itself (`ulimit -d unlimited`): sanitizers and race detectors
    /// reserve terabytes. A limit that is set here cannot be lifted.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Limits the open files of each process; 65,536 by default.
    #[must_use]
    pub fn open_files(mut self, count: u64) -> Self {
        self.open_files = Some(count);
        self
    }

    /// Sets the soft limit on open files that the program starts with. By default
    /// it is the one of the process that starts the program. A program may raise
    /// it up to [`open_files`](Self::open_files).
    #[must_use]
    pub fn initial_open_files(mut self, count: Option<u64>) -> Self {
        self.initial_open_files = count;
        self
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(target_os = "linux")]
impl ResourceLimits {
    pub(crate) fn most_processes(&self) -> u64 {
        self.processes.unwrap_or(PROCESSES)
    }

    pub(crate) fn most_memory(&self) -> Option<u64> {
        self.memory
    }

    pub(crate) fn most_open_files(&self) -> u64 {
        self.open_files.unwrap_or(OPEN_FILES)
    }

    pub(crate) fn first_open_files(&self) -> Option<u64> {
        self.initial_open_files
    }
}

impl fmt::Display for ResourceLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = self.processes.unwrap_or(PROCESSES);
        let open_files = self.open_files.unwrap_or(OPEN_FILES);
        write!(f, "{processes} processes, ")?;
        match self.memory {
            Some(bytes) => write!(f, "{} MiB of memory a process, ", bytes >> 20)?,
            None => f.write_str("the machine's memory a process, ")?,
        }
        write!(f, "{open_files} open files, no core dumps")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_stored_only_where_they_are_set() {
        assert_eq!(serde_json::to_string(&ResourceLimits::default()).unwrap(), "{}");
        let limits = ResourceLimits::default().processes(7).memory(1 << 30);
        let json = r#"{"processes":7,"memory":1073741824}"#;
        assert_eq!(serde_json::to_string(&limits).unwrap(), json);
        assert_eq!(serde_json::from_str::<ResourceLimits>(json).unwrap(), limits);
        assert!(serde_json::from_str::<ResourceLimits>(r#"{"threads":7}"#).is_err());
    }

    #[test]
    fn limits_are_shown_with_their_defaults() {
        let shown = ResourceLimits::default().to_string();
        assert!(shown.starts_with("4096 processes, the machine's memory a process"), "{shown}");
        let shown = ResourceLimits::default().memory(512 << 20).open_files(64).to_string();
        assert!(shown.contains("512 MiB of memory a process, 64 open files"), "{shown}");
    }
}
