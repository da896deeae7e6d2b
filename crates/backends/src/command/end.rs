//! How a command ended, and what that means for its task.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use offshoot_core::{Failure, FailureKind, Payload};
use offshoot_runtime::{BodyError, BodyResult};

use super::report::Report;
use super::start::NotStarted;

/// How a command ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It exited with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// It could not be started.
    NotStarted(NotStarted),
    /// It was stopped before it started.
    Stopped,
    /// Nobody could say: somebody else has reaped the process, or its keeper
    /// is gone.
    Unknown,
}

/// The end of a command, with what is told of it.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    pub(crate) end: End,
    /// The last lines it wrote to its standard error.
    pub(crate) said: Vec<String>,
}

/// Whether a command was asked to stop before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Yes,
    No,
}

impl End {
    pub(crate) fn of(status: Option<ExitStatus>) -> Self {
        let Some(status) = status else { return Self::Unknown };
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exit(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl Finish {
    /// An end of which nothing more is known.
    pub(crate) fn of(end: End) -> Self {
        Self { end, said: Vec::new() }
    }

    /// What the end means for the task: exit 0 is a success whatever was asked
    /// for, and any other end after a request to stop is what was asked for.
    pub(crate) fn ended(&self, report: &Report, asked: Asked) -> BodyResult {
        let failure = match (&self.end, asked) {
            (End::Exit(0), _) => return Ok(Payload::encode(report)?),
            (_, Asked::Yes) => return Err(BodyError::Cancelled),
            (End::NotStarted(why), Asked::No) => why.failure(),
            (End::Exit(code), Asked::No) => {
                self.failure(FailureKind::Exit(*code), format!("exited with code {code}"))
            }
            (End::Signal(signal), Asked::No) => {
                let message = format!("was ended by {}", signal_text(*signal));
                self.failure(FailureKind::Signal(*signal), message)
            }
            (End::Stopped | End::Unknown, Asked::No) => self.failure(
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

/// A signal as people know it.
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
