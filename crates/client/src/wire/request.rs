//! The requests of a client.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ApprovalRef, DecideApproval, ListApprovals, Run, TrustChange, WaitTasks};

/// A request. A client may repeat any request whose reply was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// Spawn a command.
    Spawn(Box<Spawn>),
    /// Run an agent.
    Run(Box<Run>),
    /// List the models.
    Models {
        /// The caller's keys and addresses, never stored.
        keys: Sealed,
    },
    /// List tasks, a page at a time.
    List(ListTasks),
    /// Show a task.
    Show(TaskName),
    /// Show the reasons for which a task waits.
    Why(TaskName),
    /// Read the output of a command, or the conversation of an agent.
    Tail(Tail),
    /// Wait for tasks.
    Wait(WaitTasks),
    /// Acknowledge the ends of tasks.
    Ack {
        /// Their ids.
        tasks: Vec<String>,
    },
    /// Send a message to a task.
    Send(SendMessage),
    /// Show the state of a message.
    Receipt {
        /// The task that it was sent to.
        task: TaskName,
        /// Its id.
        message: String,
    },
    /// Answer a question of a task.
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
        /// The directory of the grants.
        folder: String,
        /// The rule; without one, every rule of the directory.
        rule: Option<String>,
    },
    /// List the profiles that a directory offers.
    Profiles {
        /// The directory.
        folder: String,
    },
    /// Change the trust in a directory. Refused from a process of a task.
    Trust {
        /// The directory.
        folder: String,
        /// The change.
        trusting: TrustChange,
    },
    /// List the trusted directories.
    Trusted,
    /// Cancel a task and every task below it.
    Cancel {
        /// The task.
        task: TaskName,
        /// The options.
        stop: CancelOptions,
    },
    /// List sessions, a page at a time.
    Sessions {
        /// The cursor of the page, from the page before.
        cursor: Option<String>,
        /// The length of the page.
        limit: usize,
    },
    /// Cancel every task of a session.
    CancelSession {
        /// The name of the session.
        session: String,
        /// The options.
        stop: CancelOptions,
    },
    /// Delete a session and everything in it.
    RemoveSession {
        /// Its name.
        session: String,
    },
    /// Follow the events of a session.
    Events {
        /// The name of the session.
        session: String,
        /// The position in its log to start at; without one, now.
        cursor: Option<u64>,
    },
    /// Show the status of the daemon.
    Status,
    /// Check the whole store for damage.
    Check,
    /// End the daemon in good order.
    Quit,
}

/// The name of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskName {
    /// The session of a handle.
    pub session: String,
    /// Its handle, `<parent>/<name>` or its id.
    pub task: String,
}

/// A message to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendMessage {
    /// The task that gets it.
    pub to: TaskName,
    /// The text.
    pub text: String,
    /// Whether more messages may follow.
    pub sequel: Continuation,
    /// Makes the request repeatable.
    pub key: String,
    /// The caller's keys for models, never stored.
    #[serde(default)]
    pub keys: Sealed,
}

/// The answer to a question of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerQuestion {
    /// The task that asked.
    pub to: TaskName,
    /// The number of its question.
    pub number: u32,
    /// The answer.
    pub text: String,
}

/// Whether more messages may follow a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// More may follow.
    #[default]
    More,
    /// None may: the message ends the input of the task. An empty one does only that.
    End,
}

/// A request to spawn a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    /// The session, opened if it is new.
    pub session: String,
    /// The name of the task.
    pub name: Option<String>,
    /// The task that owns it.
    pub parent: Option<String>,
    /// The command and its arguments.
    pub argv: Vec<String>,
    /// The working directory.
    pub cwd: String,
    /// Variables of the command, stored for a restart and never shown.
    pub env: Sealed,
    /// The caller's environment, never stored.
    pub surroundings: Sealed,
    /// The file mode mask of the caller (`umask`).
    #[serde(default)]
    pub umask: Option<u32>,
    /// The timeout of the command.
    pub timeout_ms: Option<u64>,
    /// The time that the command has to stop before it is killed.
    pub grace_ms: Option<u64>,
    /// What to do with the command if the daemon dies.
    pub restart: Restart,
    /// Makes the request repeatable.
    pub key: String,
    /// Whether the caller stays to read the output.
    pub attachment: Attachment,
    /// The source of its standard input.
    pub stdin: Stdin,
}

/// What to do with a command whose daemon dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// The command is lost.
    #[default]
    Never,
    /// The next daemon starts it again, so it may run twice.
    OnCrash,
}

/// Whether the caller of a spawn stays to read the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// The caller goes.
    Detached,
    /// The caller stays and reads all output. A slow reader holds the command up, as a
    /// pipe does.
    Attached,
}

/// The source of a command's standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Each message to the task is a line of input.
    #[default]
    Messages,
    /// The caller sends it over this connection, after the first reply has named the
    /// task; see [`InputSender`](crate::InputSender). The reply is a stream.
    Follows,
}

/// Environment variables. `Debug` shows their names only.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sealed(pub BTreeMap<String, String>);

impl Sealed {
    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A request to list tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListTasks {
    /// The session; without one, every session.
    pub session: Option<String>,
    /// Whether ended tasks are listed, too.
    pub scope: Scope,
    /// The states of the listed tasks. Empty for every state.
    pub states: Vec<String>,
    /// The cursor of the page, from the page before.
    pub cursor: Option<String>,
    /// The length of the page.
    pub limit: usize,
}

/// The tasks that a list covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Live tasks.
    #[default]
    Live,
    /// Every task.
    All,
}

/// A request to read a command's output, or an agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// The task.
    pub task: TaskName,
    /// The place to start at.
    pub reading: TailStart,
    /// Whether to read what is written later, too.
    pub following: TailMode,
}

/// The place to start reading at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailStart {
    /// The beginning of what the log keeps.
    Start,
    /// The last lines, or the last blocks of a conversation.
    Lines(u64),
    /// The position at which an earlier read stopped.
    From(u64),
}

/// Whether to read what is written later, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailMode {
    /// Read what there is, and stop.
    Stop,
    /// Read until the task has ended.
    Follow,
}

/// The options of a cancel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelOptions {
    /// The reason, for the record.
    pub reason: Option<String>,
    /// The time that a task has to stop before it is ended by force.
    pub grace_ms: Option<u64>,
}
