//! The replies of the daemon.

use serde::{Deserialize, Serialize};

use super::{
    ApprovalRequest, Approvals, DirTrust, Grant, ProfileList, Sessions, Status, Task, TaskWhy,
    Tasks, WireError,
};

/// A reply. A request gets one, or a stream of them that ends with [`Reply::Done`] or
/// [`Reply::Error`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reply {
    /// The request failed or was refused.
    Error(WireError),
    /// The request is done, and the stream is over.
    Done,
    /// One task.
    Task(Box<Task>),
    /// The agent that works on a [`Run`](super::Run).
    Run {
        /// Its task.
        task: Box<Task>,
        /// The id of the message to the agent, if the agent was at work already. Other
        /// callers may then wait for it, too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The number of blocks in the conversation before the request.
        #[serde(default)]
        before: u64,
        /// Notes on the parts of the request that have another effect than written.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// A page of tasks.
    Tasks(Tasks),
    /// The reasons for which a task waits.
    Why(TaskWhy),
    /// The providers of models.
    Models {
        /// The providers.
        providers: Vec<ProviderInfo>,
    },
    /// The tasks that the caller waited for, in the order of the request.
    Waited {
        /// The tasks.
        tasks: Vec<WaitResult>,
    },
    /// The message is durable.
    Sent {
        /// Its id.
        message: String,
        /// The task that gets it. If the named task had ended, this is the new task that
        /// continues it.
        task: String,
        /// Its state, such as `queued` or `consumed`.
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
    /// The profiles that a directory offers.
    Profiles(ProfileList),
    /// Directories, and whether the user trusts them.
    Trust {
        /// The directories.
        folders: Vec<DirTrust>,
    },
    /// The number of live tasks that a cancel has reached.
    Reached {
        /// The number.
        tasks: usize,
    },
    /// A page of sessions.
    Sessions(Sessions),
    /// The status of the daemon.
    Status(Box<Status>),
    /// A gap in the output: its log dropped these bytes.
    Gap {
        /// The number of bytes.
        bytes: u64,
    },
    /// An attempt of the command begins here.
    Attempt {
        /// Its number, counted from 1.
        number: u32,
    },
    /// The position up to which the caller has read, from which it may read on.
    Position {
        /// The position.
        at: u64,
    },
    /// A block of an agent's conversation.
    Block(Box<Block>),
    /// The conversation has more blocks here, which the reply leaves out.
    Skipped {
        /// The number of blocks.
        blocks: u64,
    },
    /// An event of a session.
    Event(Box<SessionEvent>),
    /// The daemon has ended, except for its process.
    Shutdown(ShutdownReport),
}

/// The report of a daemon that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownReport {
    /// The number of tasks that no longer execute and whose end is not written. The next
    /// daemon settles them.
    pub unsettled: usize,
    /// The reason for which their ends could not be written, if it is known.
    pub why: Option<String>,
}

/// A piece of a command's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The stream that the command wrote to.
    pub stream: StreamName,
    /// The time at which the daemon read it, in microseconds since 1970.
    pub at: i64,
    /// The bytes, unchanged.
    pub bytes: Vec<u8>,
}

/// A stream that a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A block of an agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its position, counted from 0.
    pub position: u64,
    /// Its kind: `user`, `assistant`, `thought`, `tool_use`, `tool_result`, `notice` or
    /// `other`.
    pub kind: String,
    /// The name of the tool of a tool block; of another block, its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its text, cut if it is long.
    pub text: String,
    /// The reason for which the call was refused, if no user was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<CallRefusal>,
}

/// The refusal of a call about which no user was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRefusal {
    /// The reason, in words.
    pub why: String,
    /// Whether the call needed an approval and the agent had no approver.
    #[serde(default)]
    pub no_approver: bool,
}

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderInfo {
    /// Its name, as it is before the slash in the names of its models.
    pub provider: String,
    /// The variables that may hold its key. Empty if it needs no key.
    pub variables: Vec<String>,
    /// Whether the keys of the caller suffice for it.
    pub usable: bool,
    /// Its known models. The provider may have others.
    pub models: Vec<ModelInfo>,
}

/// A known model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its name, with the provider's.
    pub name: String,
    /// The size of its context window in tokens.
    pub window: u64,
    /// The price of a million input tokens, in thousandths of a dollar.
    pub input: Option<u64>,
    /// The price of a million output tokens, in thousandths of a dollar.
    pub output: Option<u64>,
}

/// A task for which the caller waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitResult {
    /// The reason for which the wait returned.
    pub end: WaitEnd,
    /// The task.
    pub task: Task,
}

/// The reason for which a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEnd {
    /// The task has ended.
    Ended,
    /// The task asks a question or for an approval.
    NeedsInput,
    /// The wait timed out, and the task goes on.
    TimedOut,
    /// The task lacks something, such as a key, and the caller chose
    /// [`OnMissing::Return`](super::OnMissing::Return).
    Lacks,
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Its position in the log. Events from here on follow it.
    pub cursor: u64,
    /// The time of the event.
    pub at: String,
    /// The kind of change, such as `started` or `ended`.
    pub change: String,
    /// The task that changed, in its current state.
    pub task: Option<Task>,
}
