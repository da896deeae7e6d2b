//! What is committed together, and what must hold when it is.

use std::sync::Arc;

use offshoot_core::{
    Block, Caps, Change, Closed, Message, Owner, Question, Row, RowId, Session, SessionId, Stamp,
    Step, Task, TaskId, Timer,
};
use smallvec::SmallVec;

/// One atomic change. Everything in it becomes durable and visible together,
/// or a precondition fails and nothing does.
///
/// A batch names each record, inbox row, question and step at most once; its
/// preconditions are judged against the state before the batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// When the decisions were made.
    pub at: Stamp,
    /// The lease that must still hold, if an attempt writes.
    pub fence: Option<Fence>,
    /// What else must hold.
    pub guards: SmallVec<[Guard; 2]>,
    /// What is written, each with its own preconditions.
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
    /// `owner` has not returned yet, or owns another live task than `child`:
    /// the end of `child` is not the end of `owner`.
    OwnerStays {
        /// The owner.
        owner: TaskId,
        /// Its child.
        child: TaskId,
    },
    /// No task of the session is live.
    Idle(SessionId),
}

/// One write. Its documentation says what must hold for it.
#[derive(Clone, Debug)]
pub enum Write {
    /// A new session: its id and its name in its space are unused.
    OpenSession(Box<Session>),
    /// A session's next record: the stored one has the sequence number before.
    PutSession(Box<Session>, Change),
    /// A new task; see [`Spawn`].
    Spawn(Spawn),
    /// A task's next record: the stored one has the sequence number before.
    Put(Task, Change),
    /// The end of a task; see [`End`].
    End(End),
    /// A row for the inbox of a task, or of a session that is there and is not
    /// being removed.
    Deliver(Box<Row>),
    /// A message for the inbox of a live task, or of a session that is there
    /// and is not being removed: its sender has not used its key there, and the
    /// inbox holds fewer than `room` messages.
    /// A used key is told before any other refusal, so that a repeated send
    /// finds what it repeats.
    Send {
        /// The message.
        message: Arc<Message>,
        /// Whose inbox.
        to: Owner,
        /// How many unread messages the inbox may hold.
        room: usize,
    },
    /// Rows that were read; see [`Ack`].
    Ack(Ack),
    /// Blocks for the end of an owner's history. If it is a session, it is there
    /// and is not being removed.
    Append {
        /// Whose history.
        owner: Owner,
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// A copy of one owner's history for the start of another's, which is
    /// empty.
    Adopt {
        /// Whose history.
        from: Owner,
        /// Who goes on with it.
        to: Owner,
    },
    /// A step of a task: no value is committed under its key.
    Step(Step),
    /// A new question: its number is the task's next.
    Ask(Box<Question>),
    /// The end of a question: it is open.
    CloseQuestion {
        /// Whose question.
        task: TaskId,
        /// Its number.
        number: u32,
        /// How it is closed.
        closed: Box<Closed>,
    },
    /// A timer of a task; replaces one of the same key.
    Arm(Timer),
    /// The end of a timer, if there is one of this key.
    Disarm {
        /// Whose.
        task: TaskId,
        /// Its key.
        key: Arc<str>,
    },
    /// A change of a counter; see [`Count`].
    Count(Count),
}

/// A new task. Its id is unused; its name is free among the live tasks of its
/// owner; its key is unused there; its owner exists, has not ended, has not
/// returned and is not being cancelled; its session
/// [takes tasks](Session::takes_tasks); and the caps admit it.
#[derive(Clone, Debug)]
pub struct Spawn {
    /// Its first record.
    pub task: Task,
    /// The caps that must admit it.
    pub caps: Arc<Caps>,
}

/// The end of a task: its last record, the row that tells the heir of it, and
/// the end of its inbox. Unread results and questions in there go to the heir,
/// too, and unread messages back to their senders. What has no sender that can
/// read goes to the heir like the rest, takes no room there and uses no key. The
/// stored record has the sequence number before.
#[derive(Clone, Debug)]
pub struct End {
    /// Its last record.
    pub task: Task,
    /// What the log says of it.
    pub change: Change,
    /// Who is left to be told: its owner, or who inherits from that.
    pub heir: Owner,
}

/// Rows of an inbox that were read.
#[derive(Clone, Debug)]
pub struct Ack {
    /// Whose inbox.
    pub owner: Owner,
    /// The rows; often one result as it comes.
    pub rows: SmallVec<[RowRef; 1]>,
    /// What a row that is not pending there means.
    pub strictness: Strictness,
}

/// A row and where it stands, as a read told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRef {
    /// Where it stands.
    pub number: u64,
    /// Which it is.
    pub id: RowId,
}

/// What an acknowledgement of a row that is not pending means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// The batch fails: somebody else has it, or had it.
    MustBePending,
    /// Nothing: it was acknowledged before.
    MayBeGone,
}

/// A counter of an owner, such as what it has spent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Counter {
    /// Whose.
    pub owner: Owner,
    /// Of what.
    pub name: Arc<str>,
}

/// A change of a counter: afterwards it is between zero and `limit`. If its
/// owner is a session, that is there and is not being removed.
#[derive(Clone, Debug)]
pub struct Count {
    /// Which.
    pub counter: Counter,
    /// By how much.
    pub by: i64,
    /// The most it may be.
    pub limit: Option<u64>,
}

impl Write {
    /// The next record of a task that is here already, if this writes one.
    pub fn next_record(&self) -> Option<&Task> {
        match self {
            Self::Put(task, _) | Self::End(End { task, .. }) => Some(task),
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

    /// This batch, valid only while the lease holds.
    pub fn fenced(mut self, task: TaskId, epoch: u32) -> Self {
        self.fence = Some(Fence { task, epoch });
        self
    }

    /// This batch and a precondition.
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guards.push(guard);
        self
    }

    /// This batch and a write.
    pub fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }
}
