//! What a client asks for.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ApprovalRef, DecideApproval, ListApprovals, Run, TrustChange, WaitTasks};

/// A request. Each may be repeated if its answer was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// Send a command off.
    Spawn(Box<Spawn>),
    /// Have an agent do something.
    Run(Box<Run>),
    /// Which models there are.
    Models {
        /// The caller's keys and addresses, never stored.
        keys: Sealed,
    },
    /// A page of tasks.
    List(ListTasks),
    /// One task.
    Show(TaskName),
    /// What a task waits on.
    Why(TaskName),
    /// What a command wrote, or the conversation of an agent.
    Tail(Tail),
    /// Wait for tasks.
    Wait(WaitTasks),
    /// The ends of these tasks have been read.
    Ack {
        /// Their ids.
        tasks: Vec<String>,
    },
    /// A message to a task.
    Send(SendMessage),
    /// How far a message has come.
    Receipt {
        /// The task that it was for.
        task: TaskName,
        /// Its id.
        message: String,
    },
    /// The answer to a question of a task.
    Answer(AnswerQuestion),
    /// List a page of approval requests.
    Approvals(ListApprovals),
    /// Show an approval request.
    Approval(ApprovalRef),
    /// Decide an approval request. Not for processes of tasks.
    Decide(Box<DecideApproval>),
    /// List the standing grants.
    Grants,
    /// Revoke standing grants. Not for processes of tasks.
    Revoke {
        /// In which folder.
        folder: String,
        /// The rule; all of the folder's if there is none.
        rule: Option<String>,
    },
    /// The profiles that can be chosen in a folder.
    Profiles {
        /// The folder.
        folder: String,
    },
    /// Trust a folder, or do so no more. Not for processes of tasks.
    Trust {
        /// The folder.
        folder: String,
        /// Which of the two.
        trusting: TrustChange,
    },
    /// The folders that are trusted.
    Trusted,
    /// Stop a task and everything below it.
    Cancel {
        /// Which.
        task: TaskName,
        /// How.
        stop: CancelOptions,
    },
    /// A page of sessions.
    Sessions {
        /// Where the page before ended.
        cursor: Option<String>,
        /// How many at the most.
        limit: usize,
    },
    /// Stop all tasks of a session.
    CancelSession {
        /// Its name.
        session: String,
        /// How.
        stop: CancelOptions,
    },
    /// Delete a session and everything in it.
    RemoveSession {
        /// Its name.
        session: String,
    },
    /// What happens in a session, from a place in its log on.
    Events {
        /// Its name.
        session: String,
        /// The place; from now on if there is none.
        cursor: Option<u64>,
    },
    /// How the daemon is.
    Status,
    /// Read the whole store, and say what is damaged.
    Check,
    /// End the daemon in good order.
    Quit,
}

/// A task, as somebody calls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskName {
    /// The session in which a handle means something.
    pub session: String,
    /// Its handle, `<parent>/<name>` or its id.
    pub task: String,
}

/// A message to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendMessage {
    /// Whom.
    pub to: TaskName,
    /// What.
    pub text: String,
    /// Whether more may follow.
    pub sequel: Continuation,
    /// Makes the request repeatable.
    pub key: String,
    /// The keys for models that are set where the message comes from.
    #[serde(default)]
    pub keys: Sealed,
}

/// The answer to a question of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerQuestion {
    /// Whose.
    pub to: TaskName,
    /// Which of its questions.
    pub number: u32,
    /// What.
    pub text: String,
}

/// Whether more messages may follow one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// They may.
    #[default]
    More,
    /// None may: it ends the input of the task, and an empty one does nothing
    /// else.
    End,
}

/// A command to be sent off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// The session, opened if it is new.
    pub session: String,
    /// Its name.
    pub name: Option<String>,
    /// The task that owns it.
    pub parent: Option<String>,
    /// The command and its arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: String,
    /// What is set for it, kept for a restart and never shown.
    pub env: Sealed,
    /// The caller's environment, never stored.
    pub surroundings: Sealed,
    /// Which permissions the caller's files do not get.
    #[serde(default)]
    pub umask: Option<u32>,
    /// How long it may run.
    pub timeout_ms: Option<u64>,
    /// How long it may take to stop.
    pub grace_ms: Option<u64>,
    /// What becomes of it if the daemon dies.
    pub restart: Restart,
    /// Makes the request repeatable.
    pub key: String,
    /// Whether the caller stays to read what it writes.
    pub attachment: Attachment,
    /// Where its standard input comes from.
    pub stdin: Stdin,
}

/// What becomes of a command whose daemon dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// It is lost.
    #[default]
    Never,
    /// It is started again: it may run twice.
    OnCrash,
}

/// Whether the caller of a spawn stays to read what the command writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// It goes.
    Detached,
    /// It stays, and misses nothing: a reader that is slow holds the command
    /// up, like a pipe.
    Attached,
}

/// Where the standard input of a command comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Each message to the task is a line of it.
    #[default]
    Messages,
    /// The caller passes it on over this connection, once it has been told of
    /// the task; see [`Input`](crate::Input). The answer is a stream.
    Follows,
}

/// Variables of an environment. Their values are not shown.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(pub BTreeMap<String, String>);

impl Sealed {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Which tasks to list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListTasks {
    /// The session; all of them if there is none.
    pub session: Option<String>,
    /// Live ones, or finished ones too.
    pub scope: Scope,
    /// In which states, if not in all.
    pub states: Vec<String>,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// How many at the most.
    pub limit: usize,
}

/// Which tasks a list covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Those that have not ended.
    #[default]
    Live,
    /// All that are kept.
    All,
}

/// What to read of a command's output, or of an agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Whose.
    pub task: TaskName,
    /// From where.
    pub reading: TailStart,
    /// Whether to go on as it writes.
    pub following: TailMode,
}

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailStart {
    /// With what is kept of the beginning.
    Start,
    /// With the last lines, or the last blocks of a conversation.
    Lines(u64),
    /// Where an earlier reading stopped.
    From(u64),
}

/// Whether a reader stays for what is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailMode {
    /// It reads what there is.
    Stop,
    /// It goes on until the task has ended.
    Follow,
}

/// How to stop something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelOptions {
    /// Why.
    pub reason: Option<String>,
    /// How long it may take before it is ended by force.
    pub grace_ms: Option<u64>,
}
