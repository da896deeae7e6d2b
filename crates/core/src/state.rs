//! The states of a task.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Stamp;

/// The state of a task. The last four are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Accepted and stored, not executing yet.
    Queued,
    /// Executing: the task has a lease and a slot.
    Running,
    /// Alive without a slot until something happens.
    Waiting(WaitingOn),
    /// Ended with a value.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended by a cancel.
    Cancelled,
    /// Ended because its worker died and it could not be restarted.
    Lost,
}

/// The event that a waiting task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingOn {
    /// The tasks that it owns.
    Children,
    /// The approval requested by the question with this number.
    Approval(u32),
    /// The answer to the question with this number.
    Input(u32),
    /// The provider's rate gate, which stays closed at least until this moment, if known.
    RateGate(Option<Stamp>),
    /// This moment.
    Timer(Stamp),
    /// A message.
    Message,
}

/// A task state without its details, for filters and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// [`TaskState::Queued`].
    Queued,
    /// [`TaskState::Running`].
    Running,
    /// [`TaskState::Waiting`].
    Waiting,
    /// [`TaskState::Completed`].
    Completed,
    /// [`TaskState::Failed`].
    Failed,
    /// [`TaskState::Cancelled`].
    Cancelled,
    /// [`TaskState::Lost`].
    Lost,
}

impl TaskState {
    /// Whether the task has ended.
    pub fn is_terminal(self) -> bool {
        self.phase().is_terminal()
    }

    /// The state without its details.
    pub fn phase(self) -> Phase {
        match self {
            Self::Queued => Phase::Queued,
            Self::Running => Phase::Running,
            Self::Waiting(_) => Phase::Waiting,
            Self::Completed => Phase::Completed,
            Self::Failed => Phase::Failed,
            Self::Cancelled => Phase::Cancelled,
            Self::Lost => Phase::Lost,
        }
    }

    /// The number of the question that the task waits for, if any.
    pub fn question(self) -> Option<u32> {
        match self {
            Self::Waiting(WaitingOn::Approval(number) | WaitingOn::Input(number)) => Some(number),
            _ => None,
        }
    }
}

impl Phase {
    /// Every phase, in the order in which a task can pass through them.
    pub const ALL: [Phase; 7] = [
        Phase::Queued,
        Phase::Running,
        Phase::Waiting,
        Phase::Completed,
        Phase::Failed,
        Phase::Cancelled,
        Phase::Lost,
    ];

    /// Whether a task in this phase has ended.
    pub fn is_terminal(self) -> bool {
        self >= Phase::Completed
    }

    /// The phase in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Queued => "queued",
            Phase::Running => "running",
            Phase::Waiting => "waiting",
            Phase::Completed => "completed",
            Phase::Failed => "failed",
            Phase::Cancelled => "cancelled",
            Phase::Lost => "lost",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(on) => write!(f, "waiting({on})"),
            other => other.phase().fmt(f),
        }
    }
}

impl fmt::Display for WaitingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Children => f.write_str("children"),
            Self::Approval(number) => write!(f, "approval {number}"),
            Self::Input(number) => write!(f, "input {number}"),
            Self::RateGate(_) => f.write_str("rate gate"),
            Self::Timer(due) => write!(f, "timer {due}"),
            Self::Message => f.write_str("message"),
        }
    }
}
