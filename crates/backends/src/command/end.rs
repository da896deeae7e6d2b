//! The end of a command, and the end of its task that follows from it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use offshoot_core::{Failure, FailureKind, Payload};
use offshoot_runtime::{BodyError, BodyResult};

use super::report::Report;
use super::start::StartFailure;

/// The end of a command.
#[derive(Clone, Debug)]
pub(crate) enum CommandEnd {
    /// It exited with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// It could not be started.
    StartFailure(StartFailure),
    /// It was stopped before it started.
    Stopped,
    /// Unknown: another part of this program has reaped the process, or its supervisor
    /// is gone.
    Unknown,
}

/// The end of a command, with the last lines of its errors.
#[derive(Clone, Debug)]
pub(crate) struct CommandResult {
    pub(crate) end: CommandEnd,
    /// The last lines it wrote to its standard error.
    pub(crate) said: Vec<String>,
}

/// The request to stop a command before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopRequest {
    Made,
    Absent,
}

impl CommandEnd {
    pub(crate) fn of(status: Option<ExitStatus>) -> Self {
        let Some(status) = status else { return Self::Unknown };
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exit(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl CommandResult {
    /// An end without error lines.
    pub(crate) fn of(end: CommandEnd) -> Self {
        Self { end, said: Vec::new() }
    }

    /// The end of the task. Exit 0 is a success even after a request to stop. Any other
    /// end after a request to stop is a cancellation.
    pub(crate) fn ended(&self, report: &Report, asked: StopRequest) -> BodyResult {
        let failure = match (&self.end, asked) {
            (CommandEnd::Exit(0), _) => return Ok(Payload::encode(report)?),
            (_, StopRequest::Made) => return Err(BodyError::Cancelled),
            (CommandEnd::StartFailure(why), StopRequest::Absent) => why.failure(),
            (CommandEnd::Exit(code), StopRequest::Absent) => {
                self.failure(FailureKind::Exit(*code), format!("exited with code {code}"))
            }
            (CommandEnd::Signal(signal), StopRequest::Absent) => {
                let message = format!("was ended by {}", signal_text(*signal));
                self.failure(FailureKind::Signal(*signal), message)
            }
            (CommandEnd::Stopped | CommandEnd::Unknown, StopRequest::Absent) => self.failure(
                FailureKind::Error,
                "ended, but how it did is not known: something else in this process took its \
                 exit status"
                    .to_owned(),
            ),
        };
        Err(BodyError::Failed(failure))
    }

    fn failure(&self, kind: FailureKind, message: String) -> Failure {
        Failure { causes: self.said.clone(), ..Failure::new(kind, message) }
    }
}

/// The number and the name of a signal.
fn signal_text(signal: i32) -> String {
    const NAMES: [(rustix::process::Signal, &str); 16] = {
        use rustix::process::Signal as S;
        [
            (S::HUP, "SIGHUP"),
            (S::INT, "SIGINT"),
            (S::QUIT, "SIGQUIT"),
            (S::ILL, "SIGILL"),
            (S::TRAP, "SIGTRAP"),
            (S::ABORT, "SIGABRT"),
            (S::BUS, "SIGBUS"),
            (S::FPE, "SIGFPE"),
            (S::KILL, "SIGKILL"),
            (S::USR1, "SIGUSR1"),
            (S::SEGV, "SIGSEGV"),
            (S::USR2, "SIGUSR2"),
            (S::PIPE, "SIGPIPE"),
            (S::ALARM, "SIGALRM"),
            (S::TERM, "SIGTERM"),
            (S::SYS, "SIGSYS"),
        ]
    };
    match NAMES.iter().find(|(known, _)| known.as_raw() == signal) {
        Some((_, name)) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}
