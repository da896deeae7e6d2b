//! The errors of a client.

use std::path::PathBuf;

use crate::daemon_dir::DaemonDirError;
use crate::frame::FrameError;
use crate::wire::WireError;

/// The reason for which a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The daemon refused the request, or the request failed.
    #[error(transparent)]
    Refused(#[from] WireError),
    /// The data directory cannot be used.
    #[error(transparent)]
    DaemonDir(#[from] DaemonDirError),
    /// No daemon runs, and the client was not to start one.
    #[error("no daemon runs for {0}")]
    NotRunning(PathBuf),
    /// The daemon could not be started.
    #[error("the daemon could not be started")]
    NotStarted(#[source] std::io::Error),
    /// The daemon ended before it was ready.
    #[error("the daemon ended before it was ready: {why} (its log is {log})")]
    DiedAtStart {
        /// Its error output.
        why: String,
        /// The path of its log.
        log: PathBuf,
    },
    /// Another program holds the data directory.
    #[error(
        "the data directory {data} is held by {holder}, which does not answer: \
         wait until it has ended, stop it, or choose another directory with --data"
    )]
    Locked {
        /// The data directory.
        data: PathBuf,
        /// The program that holds it.
        holder: String,
    },
    /// The daemon at the address holds another data directory.
    #[error("{error}")]
    WrongDirectory {
        /// Its error.
        error: WireError,
        /// Its process, where the platform tells.
        process: Option<u32>,
    },
    /// Another user listens at the address of the daemon.
    #[error("{socket} is served by user {owner}, not by you: nothing was sent")]
    ForeignSocket {
        /// The socket.
        socket: PathBuf,
        /// The user who listens.
        owner: u32,
    },
    /// The daemon is there and does not answer.
    #[error(
        "the daemon at {socket} does not answer: it may be stopped; continue it with SIGCONT, or \
         kill it, and the next command starts another"
    )]
    Unresponsive {
        /// Its socket.
        socket: PathBuf,
    },
    /// The connection failed.
    #[error("the daemon cannot be reached")]
    Connection(#[source] FrameError),
    /// The daemon died at each try of the request.
    #[error("the daemon went away {tries} times while it was asked: see {log}")]
    KeepsDying {
        /// The number of tries.
        tries: u32,
        /// The path of its log.
        log: PathBuf,
    },
    /// The reply belongs to another request.
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
