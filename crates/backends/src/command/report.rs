//! The report on its process in a command's record.

use serde::{Deserialize, Serialize};

use crate::process::{Identity, boot};

/// The report on a command.
///
/// It is the progress of its task, during and after the run, and the value of a command
/// that completed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The number of its main process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The boot of the machine in which that number is valid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
    /// When the process started, in ticks since that boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// The origin of its environment.
    pub environment: Origin,
    /// The output of this attempt.
    pub output: OutputSize,
    /// The last line it wrote, safe to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
    /// The code with which it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Its run time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Its processor time, with that of the processes it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// The peak memory of the largest of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// The processes that it left behind, which were ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_behind: u64,
    /// The reason for which it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_error: Option<StartError>,
    /// The reason for which a part of its output could not be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_error: Option<String>,
}

/// The bytes that a command has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSize {
    /// In all.
    pub bytes: u64,
    /// To its standard output.
    pub stdout: u64,
    /// To its standard error.
    pub stderr: u64,
    /// The bytes of the log, of all attempts, that were dropped.
    pub dropped: u64,
}

/// The origin of a command's environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The environment of the caller.
    Caller,
    /// The environment of the process that executes it. The caller's is never stored, so it
    /// is lost with the process that had it.
    #[default]
    Daemon,
}

/// The reason for which a command could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartError {
    /// The program does not exist.
    NotFound,
    /// The program cannot be executed.
    NotExecutable,
    /// The working directory does not exist or cannot be entered.
    BadFolder,
    /// The arguments and the environment are longer than the system accepts.
    TooLong,
    /// The system has no processes, files or memory left.
    Exhausted,
    /// Its input was lost with the process that had it.
    InputGone,
    /// It cannot be confined.
    NotConfined,
    /// The system gave another reason.
    Other,
}

impl StartError {
    /// Returns the exit code with which a shell would report it.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::NotFound => 127,
            _ => 126,
        }
    }
}

impl Report {
    pub(crate) fn of(main: Identity) -> Self {
        Self {
            pid: Some(main.pid),
            boot: boot().to_owned(),
            started: Some(main.started),
            ..Self::default()
        }
    }

    /// Returns the reported main process.
    pub(crate) fn main(&self) -> Option<Identity> {
        Some(Identity { pid: self.pid?, started: self.started? })
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
