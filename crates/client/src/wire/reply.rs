//! What the daemon answers.

use serde::{Deserialize, Serialize};

use super::{
    ApprovalRequest, Approvals, DirTrust, Grant, ProfileList, Sessions, Status, Task, TaskWhy,
    Tasks, WireError,
};

/// An answer. A request gets one of these, or a stream of them that ends with
/// [`Reply::Done`] or [`Reply::Error`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// It was not done.
    Error(WireError),
    /// It is done, and the stream is over.
    Done,
    /// One task.
    Task(Box<Task>),
    /// The agent that does what was asked.
    Run {
        /// Its task.
        task: Box<Task>,
        /// The message that asks it, if it was at work already. Then others may
        /// wait for it, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// How many blocks the conversation had before.
        #[serde(default)]
        before: u64,
        /// What of what was asked for does not count as it is written.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A page of tasks.
    Tasks(Tasks),
    /// What a task waits on.
    Why(TaskWhy),
    /// The providers of models and what is known of them.
    Models {
        /// Each of them.
        providers: Vec<ProviderInfo>,
    },
    /// The tasks that were waited for, in the order of the request.
    Waited {
        /// Each of them.
        tasks: Vec<WaitResult>,
    },
    /// The message is durable.
    Sent {
        /// Its id.
        message: String,
        /// The task that gets it; another one than was named, if that one had
        /// ended and a new one goes on for it.
        task: String,
        /// How far it has come.
        state: String,
    },
    /// A page of approval requests.
    Approvals(Approvals),
    /// The current state of an approval request.
    Approval(Box<ApprovalRequest>),
    /// Standing grants.
    Grants {
        /// Each of it.
        grants: Vec<Grant>,
    },
    /// The profiles that can be chosen in a folder.
    Profiles(ProfileList),
    /// Folders, and whether they are trusted.
    Trust {
        /// Each of them.
        folders: Vec<DirTrust>,
    },
    /// The request to stop has reached this many live tasks.
    Reached {
        /// How many.
        tasks: usize,
    },
    /// A page of sessions.
    Sessions(Sessions),
    /// How the daemon is.
    Status(Box<Status>),
    /// So many bytes are missing here: they were not kept.
    Gap {
        /// How many.
        bytes: u64,
    },
    /// An attempt of the command began here.
    Attempt {
        /// Which, counted from 1.
        number: u32,
    },
    /// What was read up to here; reading may go on from this place.
    Position {
        /// The place.
        at: u64,
    },
    /// A block of an agent's conversation.
    Block(Box<Block>),
    /// So many blocks of the conversation are left out here.
    Skipped {
        /// How many.
        blocks: u64,
    },
    /// Something happened in a session.
    Event(Box<SessionEvent>),
    /// The daemon has ended, all but its process.
    Shutdown(ShutdownReport),
}

/// What became of everything when a daemon was asked to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownReport {
    /// How many tasks do not execute any more and have no end in the records:
    /// the next daemon settles them.
    pub unsettled: usize,
    /// Why their ends could not be written, if that is known.
    pub why: Option<String>,
}

/// A piece of what a command wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it wrote it.
    pub stream: StreamName,
    /// When it was read, in microseconds since 1970.
    pub at: i64,
    /// The bytes, as they are.
    pub bytes: Vec<u8>,
}

/// Where a command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

/// A block of an agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Where it stands, counted from 0.
    pub position: u64,
    /// In a word: `user`, `assistant`, `thought`, `tool_use`, `tool_result`,
    /// `notice` or `other`.
    pub kind: String,
    /// The tool's name, if it is a tool's; of another one, what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it says; of a long one the beginning.
    pub text: String,
    /// Why the call of which it is the result was not made, if nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<CallRefusal>,
}

/// Why a call was not made of which nobody was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRefusal {
    /// In words for a person.
    pub why: String,
    /// Whether it would have been asked for, had there been anybody to ask.
    #[serde(default)]
    pub no_approver: bool,
}

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderInfo {
    /// What stands before the slash in the names of its models.
    pub provider: String,
    /// The variables that may hold its key; none if it wants none.
    pub variables: Vec<String>,
    /// Whether it can be asked with what the caller has.
    pub usable: bool,
    /// The models that are known. There may be others.
    pub models: Vec<ModelInfo>,
}

/// A model that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its name, with its provider's.
    pub name: String,
    /// How many tokens it can read.
    pub window: u64,
    /// What a million tokens that it reads cost, in thousandths of a dollar.
    pub input: Option<u64>,
    /// What a million that it writes cost.
    pub output: Option<u64>,
}

/// A task that was waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitResult {
    /// Why the wait returned.
    pub end: WaitEnd,
    /// The task.
    pub task: Task,
}

/// Why a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEnd {
    /// The task has ended.
    Ended,
    /// It asks something.
    NeedsInput,
    /// It goes on; the wait was over.
    TimedOut,
    /// It cannot go on here before somebody brings what it lacks, and the wait
    /// was to return then.
    Lacks,
}

/// Something that happened in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Where it stands in the log: events from here on are what follows it.
    pub cursor: u64,
    /// When.
    pub at: String,
    /// What, in a word, such as `started` or `ended`.
    pub change: String,
    /// The task it tells of, as it is now.
    pub task: Option<Task>,
}
