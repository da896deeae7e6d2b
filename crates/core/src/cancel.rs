//! A request to stop: who asked, why, and how long the body may take.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{SessionId, TaskId};
use crate::time::Stamp;

/// How long a body may take to stop by itself unless told otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// A request to stop. The first one on a task stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// Who asked.
    pub by: Canceller,
    /// Why, in the asker's words.
    pub reason: Arc<str>,
    /// When.
    pub at: Stamp,
    /// How long the body may take before it is aborted.
    pub grace: Duration,
}

/// Who asked for a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Canceller {
    /// A person or an operator.
    Host,
    /// The session that owns the task or one above it.
    Session(SessionId),
    /// A task, perhaps the cancelled one itself.
    Task(TaskId),
    /// The runtime, because it was told to shut down.
    Shutdown,
    /// The runtime, because the task's owner ended without it.
    OwnerEnded(TaskId),
    /// The runtime, because the spawn was never acknowledged to its caller.
    Unacknowledged,
}

impl fmt::Display for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Session(id) => write!(f, "session {id}"),
            Self::Task(id) => write!(f, "task {id}"),
            Self::Shutdown => f.write_str("shutdown"),
            Self::OwnerEnded(id) => write!(f, "end of owner {id}"),
            Self::Unacknowledged => f.write_str("unacknowledged spawn"),
        }
    }
}
