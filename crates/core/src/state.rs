//! The states of a task.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Stamp;

/// Where a task stands. The last four are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Accepted, durable, not executing yet.
    Queued,
    /// Executing: it holds a lease and a slot.
    Running,
    /// Alive without a slot until something happens.
    Waiting(WaitingOn),
    /// Ended with a value.
    Completed,
    /// Ended with an error.
    Failed,
    /// Ended because somebody asked for it.
    Cancelled,
    /// Its worker died and it could not be taken up again.
    Lost,
}

/// What a waiting task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingOn {
    /// The tasks it owns.
    Children,
    /// Leave to do something: the question of this number.
    Approval(u32),
    /// An answer: the question of this number.
    Input(u32),
    /// The provider's rate gate, which is closed until this moment at the
    /// earliest, if that is known.
    RateGate(Option<Stamp>),
    /// A moment.
    Timer(Stamp),
    /// A message.
    Message,
}

/// A state without what it carries: what people filter and count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// [`State::Queued`].
    Queued,
    /// [`State::Running`].
    Running,
    /// [`State::Waiting`].
    Waiting,
    /// [`State::Completed`].
    Completed,
    /// [`State::Failed`].
    Failed,
    /// [`State::Cancelled`].
    Cancelled,
    /// [`State::Lost`].
    Lost,
}

impl State {
    /// Whether the task has ended.
    pub fn is_terminal(self) -> bool {
        self.phase().is_terminal()
    }

    /// The state without what it carries.
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

    /// The number of the question the task waits on, if it waits on one.
    pub fn question(self) -> Option<u32> {
        match self {
            Self::Waiting(WaitingOn::Approval(number) | WaitingOn::Input(number)) => Some(number),
            _ => None,
        }
    }
}

impl Phase {
    /// Every phase, in the order in which a task may pass through them.
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

    /// The word for it.
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

impl fmt::Display for State {
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
