//! The ordered log: what changed, in the order in which it was committed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, SessionId, TaskId};
use crate::state::{Phase, WaitingOn};
use crate::time::Stamp;

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Where it stands in the log.
    pub cursor: Cursor,
    /// The session it belongs to; events never cross sessions.
    pub session: SessionId,
    /// The task it tells of, unless it tells of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// When it was committed.
    pub at: Stamp,
    /// What changed.
    pub change: Change,
}

/// A place in the log, to go on reading from. Opaque: compare it, store it,
/// hand it back.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cursor(u64);

impl Cursor {
    /// Before the first entry.
    pub const START: Self = Self(0);

    /// The place with this number. For stores.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number. For stores.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// What changed. A delta: the record has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// A session was opened.
    SessionOpened,
    /// A cancel of several of the session's tasks began.
    SweepBegan,
    /// A cancel of several of the session's tasks has reached them all.
    SweepEnded,
    /// The removal of the session began; this log goes with it.
    RemovalBegan,
    /// A task was spawned and waits for a slot.
    Spawned,
    /// A task was spawned and started at once.
    SpawnedRunning,
    /// An attempt started.
    Started {
        /// Which one, counted from 1.
        attempt: u32,
    },
    /// The task waits.
    Waiting(WaitingOn),
    /// The task goes on.
    Resumed,
    /// The task went back into the queue.
    Requeued,
    /// The task has got further than the attempts that crashed before.
    Advanced,
    /// The task ended.
    Ended(Phase),
    /// The task was asked to stop.
    CancelRequested,
    /// The task reported, and may do something else.
    Progress,
    /// The task does something else.
    Activity,
    /// A message was queued for the task.
    MessageQueued(MessageId),
    /// The task asked the question of this number.
    Asked(u32),
    /// The question of this number was answered or withdrawn.
    QuestionClosed(u32),
    /// The history grew to this many blocks.
    HistoryGrew(u64),
    /// A step's value was committed.
    StepCommitted(Arc<str>),
    /// Rows of the inbox were acknowledged.
    Acknowledged {
        /// How many.
        rows: u32,
    },
    /// The record was deleted because its retention ended.
    Deleted,
}
