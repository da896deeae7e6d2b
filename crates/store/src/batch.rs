//! Batches: writes that are committed together, and their preconditions.

use std::sync::Arc;

use offshoot_core::{
    Block, Caps, Change, InboxMessage, Owner, Question, Resolution, Row, RowId, SessionId,
    SessionRecord, Stamp, Step, Task, TaskId, Timer,
};
use smallvec::SmallVec;

/// An atomic change. All of it becomes durable and visible together, or a precondition
/// fails and nothing is written.
///
/// A batch names each record, inbox row, question and step at most once. Its preconditions
/// are checked against the state before the batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// When the decisions were made.
    pub at: Stamp,
    /// The lease that must be valid, if an attempt writes.
    pub fence: Option<Fence>,
    /// Further preconditions.
    pub guards: SmallVec<[Guard; 2]>,
    /// The writes, each with its own preconditions.
    pub writes: SmallVec<[Write; 2]>,
}

/// The lease under which an attempt writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Its task.
    pub task: TaskId,
    /// Its epoch.
    pub epoch: u32,
}

/// A precondition that no write implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The task owns no live task.
    Childless(TaskId),
    /// The task owns a live task.
    HasChildren(TaskId),
    /// `child` is the only live task that `owner` owns.
    OnlyChild {
        /// The owner.
        owner: TaskId,
        /// Its child.
        child: TaskId,
    },
    /// `owner` has not returned, or owns a live task besides `child`, so the end of `child`
    /// does not end `owner`.
    OwnerStays {
        /// The owner.
        owner: TaskId,
        /// Its child.
        child: TaskId,
    },
    /// No task of the session is live.
    Idle(SessionId),
}

/// A write. The documentation of each variant states its preconditions.
#[derive(Clone, Debug)]
pub enum Write {
    /// A new session. Its id and its name in its space are unused.
    OpenSession(Box<SessionRecord>),
    /// A session's next record. The stored sequence number is the previous one.
    PutSession(Box<SessionRecord>, Change),
    /// A new task; see [`SpawnWrite`].
    Spawn(SpawnWrite),
    /// A task's next record. The stored sequence number is the previous one.
    Put(Task, Change),
    /// The end of a task; see [`EndWrite`].
    End(EndWrite),
    /// A row for the inbox of a task, or of a session that exists and is not being removed.
    Deliver(Box<Row>),
    /// A message for the inbox of a live task, or of a session that exists and is not being
    /// removed. The sender has not used the message's key there, and the inbox has fewer
    /// than `room` messages.
    ///
    /// A used key is reported before any other refusal, so that a repeated send finds the
    /// original message.
    Send {
        /// The message.
        message: Arc<InboxMessage>,
        /// The owner of the inbox.
        to: Owner,
        /// The maximum number of unread messages in the inbox.
        room: usize,
    },
    /// Acknowledged rows; see [`Ack`].
    Ack(Ack),
    /// Blocks to append to an owner's history. An owner that is a session exists and is not
    /// being removed.
    Append {
        /// The owner of the history.
        owner: Owner,
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// A copy of one owner's history, as the start of another owner's empty history.
    Adopt {
        /// The owner whose history is copied.
        from: Owner,
        /// The owner that continues it.
        to: Owner,
    },
    /// A step of a task. No value is committed under its key.
    Step(Step),
    /// A new question. Its number is the task's next.
    Ask(Box<Question>),
    /// Closes a question, which is open.
    CloseQuestion {
        /// The task that asked.
        task: TaskId,
        /// Its number.
        number: u32,
        /// The resolution.
        closed: Box<Resolution>,
    },
    /// A timer of a task. It replaces a timer with the same key.
    Arm(Timer),
    /// Removes a timer, if there is one with this key.
    Disarm {
        /// The task.
        task: TaskId,
        /// Its key.
        key: Arc<str>,
    },
    /// A change of a counter; see [`CounterChange`].
    Count(CounterChange),
}

/// A new task. Its preconditions:
///
/// - its id is unused;
/// - no live task of its owner has its name, and its key is unused there;
/// - its owner exists, has not ended or returned, and is not being cancelled;
/// - its session [takes tasks](SessionRecord::takes_tasks);
/// - the caps admit it.
#[derive(Clone, Debug)]
pub struct SpawnWrite {
    /// Its first record.
    pub task: Task,
    /// The caps that must admit it.
    pub caps: Arc<Caps>,
}

/// The end of a task: its last record, the result row for the recipient, and the end of its
/// inbox. The stored sequence number is the previous one.
///
/// Unread results and questions in its inbox move to the recipient. Unread messages go back
/// to their senders. Messages whose sender cannot read move to the recipient, where they do
/// not count against the inbox limit and use no key.
#[derive(Clone, Debug)]
pub struct EndWrite {
    /// Its last record.
    pub task: Task,
    /// The change for the log.
    pub change: Change,
    /// The owner that receives the result: the task's owner or, if that has ended, an owner
    /// further up.
    pub recipient: Owner,
}

/// Acknowledges rows of an inbox.
#[derive(Clone, Debug)]
pub struct Ack {
    /// The owner of the inbox.
    pub owner: Owner,
    /// The rows, often a single result.
    pub rows: SmallVec<[RowRef; 1]>,
    /// The treatment of rows that are not pending.
    pub strictness: Strictness,
}

/// A reference to an inbox row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRef {
    /// Its number in the inbox.
    pub number: u64,
    /// Its id.
    pub id: RowId,
}

/// The treatment of the acknowledgement of a row that is not pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The batch fails, because another reader has acknowledged the row.
    MustBePending,
    /// The row is skipped.
    MayBeGone,
}

/// A counter of an owner, such as its spent tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Counter {
    /// The owner.
    pub owner: Owner,
    /// The counter's name.
    pub name: Arc<str>,
}

/// A change of a counter. The new value is between zero and `limit`. An owner that is a
/// session exists and is not being removed.
#[derive(Clone, Debug)]
pub struct CounterChange {
    /// The counter.
    pub counter: Counter,
    /// The difference.
    pub by: i64,
    /// The maximum new value.
    pub limit: Option<u64>,
}

impl Write {
    /// The next record of an existing task, if this writes one.
    pub fn next_record(&self) -> Option<&Task> {
        match self {
            Self::Put(task, _) | Self::End(EndWrite { task, .. }) => Some(task),
            _ => None,
        }
    }
}

impl Batch {
    /// An empty batch, decided at `at`.
    pub fn new(at: Stamp) -> Self {
        Self { at, fence: None, guards: SmallVec::new(), writes: SmallVec::new() }
    }

    /// Adds a write.
    #[inline]
    pub fn push(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// Makes the batch valid only under this lease.
    pub fn fenced(mut self, task: TaskId, epoch: u32) -> Self {
        self.fence = Some(Fence { task, epoch });
        self
    }

    /// Adds a precondition.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guards.push(guard);
        self
    }

    /// Adds a write.
    pub fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }
}
