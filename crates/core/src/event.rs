//! The event log: what changed, in commit order.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, SessionId, TaskId};
use crate::state::{Phase, WaitingOn};
use crate::time::Stamp;

/// An entry of the event log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its position in the log.
    pub cursor: Cursor,
    /// The session it belongs to. Events never cross sessions.
    pub session: SessionId,
    /// The task it is about; `None` if it is about the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// When it was committed.
    pub at: Stamp,
    /// The change.
    pub change: Change,
}

/// A position in the log to continue reading from. Opaque: compare it, store it, pass it
/// back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cursor(u64);

impl Cursor {
    /// The position before the first event.
    pub const START: Self = Self(0);

    /// The position with this number. For stores.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of the position. For stores.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// A change. The record contains the full new state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// A session was opened.
    SessionOpened,
    /// A sweep began: a cancel of several of the session's tasks.
    SweepBegan,
    /// A sweep has reached all its tasks.
    SweepEnded,
    /// The removal of the session began. The removal also deletes this log.
    RemovalBegan,
    /// A task was spawned and waits for a slot.
    Spawned,
    /// A task was spawned and started at once.
    SpawnedRunning,
    /// An attempt started.
    Started {
        /// Its number, counted from 1.
        attempt: u32,
    },
    /// The task began to wait.
    Waiting(WaitingOn),
    /// The task resumed.
    Resumed,
    /// The task went back to the queue.
    Requeued,
    /// The task made progress, which resets its count of crashes.
    Advanced,
    /// The task ended.
    Ended(Phase),
    /// A cancel was requested.
    CancelRequested,
    /// The task reported progress, and may have changed its activity.
    Progress,
    /// The task changed its activity.
    Activity,
    /// A message was queued for the task.
    MessageQueued(MessageId),
    /// The task asked the question with this number.
    Asked(u32),
    /// The question with this number was answered or withdrawn.
    QuestionClosed(u32),
    /// The history has this many blocks now.
    HistoryGrew(u64),
    /// A step's value was committed.
    StepCommitted(Arc<str>),
    /// Inbox rows were acknowledged.
    Acknowledged {
        /// The number of rows.
        rows: u32,
    },
    /// The record was deleted because its retention ended.
    Deleted,
}
