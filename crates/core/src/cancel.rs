//! Cancel requests: who cancels, why, and how long the body may take to stop.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{SessionId, TaskId};
use crate::time::Stamp;

/// The default time that a body may take to stop by itself.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// A cancel request. The first one on a task is final.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// The canceller.
    pub by: Canceller,
    /// The reason, in the canceller's words.
    pub reason: Arc<str>,
    /// When it was requested.
    pub at: Stamp,
    /// The time that the body has before it is aborted.
    pub grace: Duration,
}

/// The party that requested a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Canceller {
    /// A person or an operator.
    Host,
    /// The session of the task.
    Session(SessionId),
    /// A task, possibly the cancelled task itself.
    Task(TaskId),
    /// The runtime, because of a shutdown.
    Shutdown,
    /// The runtime, because the task's owner ended.
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
