//! Why the daemon could not be asked, or did not do as asked.

use std::path::PathBuf;

use crate::daemon_dir::DaemonDirError;
use crate::frame::FrameError;
use crate::wire::WireError;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The daemon refused.
    #[error(transparent)]
    Refused(#[from] WireError),
    /// The data folder cannot be used.
    #[error(transparent)]
    DaemonDir(#[from] DaemonDirError),
    /// No daemon runs, and none was to be started.
    #[error("no daemon runs for {0}")]
    NotRunning(PathBuf),
    /// The daemon could not be started.
    #[error("the daemon could not be started")]
    NotStarted(#[source] std::io::Error),
    /// The daemon ended before it was ready.
    #[error("the daemon ended before it was ready: {why} (its log is {log})")]
    DiedAtStart {
        /// What it said last.
        why: String,
        /// Where its log is.
        log: PathBuf,
    },
    /// Another program holds the data folder.
    #[error(
        "the data folder {data} is held by {holder}, which serves nobody: \
         wait until it has ended, stop it, or choose another folder with --data"
    )]
    Locked {
        /// Which.
        data: PathBuf,
        /// Who.
        holder: String,
    },
    /// The daemon that is found holds another folder, as far as it knows.
    #[error("{error}")]
    WrongDirectory {
        /// What it says.
        error: WireError,
        /// Its process, where the platform tells.
        process: Option<u32>,
    },
    /// Somebody else listens where the daemon should.
    #[error("{socket} is served by user {owner}, not by you: nothing was sent")]
    ForeignSocket {
        /// Where.
        socket: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// The daemon is there and says nothing.
    #[error(
        "the daemon at {socket} does not answer: it may be stopped; continue it with SIGCONT, or \
         kill it, and the next command starts another"
    )]
    Unresponsive {
        /// Where it listens.
        socket: PathBuf,
    },
    /// The connection failed.
    #[error("the daemon cannot be reached")]
    Connection(#[source] FrameError),
    /// The daemon died each time it was asked.
    #[error("the daemon went away {tries} times while it was asked: see {log}")]
    KeepsDying {
        /// How often it was asked.
        tries: u32,
        /// Where its log is.
        log: PathBuf,
    },
    /// The answer is not one to the question.
    #[error("the daemon gave an answer to another question")]
    WrongAnswer,
}

impl Error {
    /// Whether a stream broke because the daemon went away: the next daemon has the rest.
    pub fn is_broken_off(&self) -> bool {
        self.is_gone()
    }

    /// Whether the connection broke after a daemon's socket had accepted it.
    pub(crate) fn is_dropped(&self) -> bool {
        use std::io::ErrorKind::{ConnectionRefused, NotADirectory, NotFound};
        match self {
            Self::Connection(FrameError::Closed) => true,
            Self::Connection(FrameError::Io(error)) => {
                !matches!(error.kind(), ConnectionRefused | NotADirectory | NotFound)
            }
            _ => false,
        }
    }

    /// Whether the daemon went away, so that the next one may be asked.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Connection(FrameError::Closed | FrameError::Io(_)) => true,
            Self::Refused(error) => error.code == crate::wire::Code::Closing,
            _ => false,
        }
    }
}

impl From<FrameError> for Error {
    fn from(error: FrameError) -> Self {
        Self::Connection(error)
    }
}
