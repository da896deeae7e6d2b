//! The error of the runtime's operations.

use std::sync::Arc;

use offshoot_core::{
    CapReached, MessageId, NameError, Owner, PayloadError, RowId, SessionBusy, TaskId, TaskState,
    TooLarge,
};
use offshoot_store::{CommitError, Conflict, CursorExpired, StoreError};

/// Why an operation failed. Unless the variant says otherwise, nothing changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Another live task of the same owner has the name.
    #[error("the name {name:?} is taken by the live task {holder}: choose another, or wait for it")]
    NameTaken {
        /// The name.
        name: String,
        /// The task that has it.
        holder: TaskId,
    },
    /// No task that the caller can see has this handle or id.
    #[error("there is no task {what:?} here{}", suggest(.nearest))]
    NotFound {
        /// The handle or id.
        what: String,
        /// The most similar handle, if there is one.
        nearest: Option<String>,
    },
    /// The session does not exist, or is being removed.
    #[error("there is no session {what:?}: it was removed, or never opened")]
    NoSession {
        /// Its name or id.
        what: String,
    },
    /// The session has live tasks and cannot be removed.
    #[error(transparent)]
    SessionBusy(#[from] SessionBusy),
    /// The caller may not touch the task.
    #[error("task {0} belongs to another owner: ask its owner")]
    Forbidden(TaskId),
    /// Several live tasks have the handle.
    #[error("{what:?} names several tasks: use one of the ids {}", list(.ids))]
    Ambiguous {
        /// The handle.
        what: String,
        /// The tasks.
        ids: Vec<TaskId>,
    },
    /// The task has ended.
    #[error("task {id} has already ended ({state})")]
    Ended {
        /// The task.
        id: TaskId,
        /// The state in which it ended.
        state: TaskState,
    },
    /// A cap is reached.
    #[error(transparent)]
    Cap(#[from] CapReached),
    /// The owner has ended, was cancelled, or is being removed.
    #[error(
        "{0} has ended or is being cancelled or removed, and takes no new tasks: \
         spawn under another owner"
    )]
    OwnerClosed(Owner),
    /// The key was used for another request.
    #[error("the key {key:?} was used for another request (task {task}): use a new key")]
    KeyReused {
        /// The key.
        key: Arc<str>,
        /// The task of that request.
        task: TaskId,
    },
    /// The sender has already used the key for another message to the recipient.
    #[error(
        "the key {key:?} was used for another message to {to} ({message}): \
         use a new key, or send the same text again"
    )]
    MessageKeyReused {
        /// The key.
        key: Arc<str>,
        /// The recipient.
        to: Owner,
        /// The earlier message.
        message: MessageId,
    },
    /// The task has already used the key for another question.
    #[error("the key {key:?} was used for another question (number {number}): use a new key")]
    QuestionKeyReused {
        /// The key.
        key: Arc<str>,
        /// The number of the earlier question.
        number: u32,
    },
    /// A value is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The task takes no messages.
    #[error("task {0} takes no messages")]
    TakesNoMessages(TaskId),
    /// The task's last message was sent, so it reads no more.
    #[error("the input of task {0} has been ended: it reads no more messages")]
    InputEnded(TaskId),
    /// The inbox is full.
    #[error("the inbox of {owner} is full ({limit} unread messages): try again later")]
    Full {
        /// The owner of the inbox.
        owner: Owner,
        /// The number of unread messages in it.
        limit: usize,
    },
    /// The task's kind lacks a capability.
    #[error("tasks of kind {kind:?} cannot do this: missing {}", .missing.join(", "))]
    Incapable {
        /// The kind.
        kind: Arc<str>,
        /// The missing capabilities.
        missing: Vec<&'static str>,
    },
    /// The task has ended, and this process cannot execute a task that continues
    /// it.
    #[error("task {id} has ended, and cannot go on: {what}")]
    Lacks {
        /// The task.
        id: TaskId,
        /// The missing requirement.
        what: String,
    },
    /// The kind is not registered here.
    #[error("the kind {0:?} is not registered: register it before the runtime is opened")]
    UnknownKind(Arc<str>),
    /// The kind is registered twice.
    #[error("the kind {0:?} is registered twice: give each kind a name of its own")]
    DuplicateKind(Arc<str>),
    /// The name is reserved for the kind of closures.
    #[error("{0:?} is the kind of closures: give yours another name")]
    ReservedKind(Arc<str>),
    /// The name of a kind is blank or too long.
    #[error("{0:?} cannot name a kind: {1}")]
    BadKind(String, NameError),
    /// The name of a profile is blank, too long, or no valid start of a handle.
    #[error("{0:?} cannot name a profile: {1}")]
    BadProfile(String, NameError),
    /// A value could not be encoded or decoded as JSON.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The question is not open.
    #[error(
        "question {number} of task {task} is not open: it was never asked, or is answered or withdrawn"
    )]
    QuestionClosed {
        /// The task that asked.
        task: TaskId,
        /// The number of the question.
        number: u32,
    },
    /// The row was acknowledged meanwhile, or has moved to another owner.
    #[error("row {0} is not pending here any more: drain again for what is left")]
    RowGone(RowId),
    /// A counter would leave its bounds.
    #[error("the counter {counter:?} stands at {value} and may not go past its limit")]
    Limit {
        /// The name of the counter.
        counter: Arc<str>,
        /// Its value.
        value: u64,
    },
    /// A step that must not be repeated began earlier and did not commit.
    #[error("step {0:?} began before and whether it took effect is unknown")]
    Unknown(Arc<str>),
    /// A step was taken inside the work of a step of the same key.
    #[error("step {0:?} is taken inside itself: give the inner one a key of its own")]
    StepInsideItself(Arc<str>),
    /// A body waits for its own task, which cannot end before the wait.
    #[error("task {0} cannot wait for itself: wait for its children, or return")]
    WaitsForItself(TaskId),
    /// The calling task was cancelled.
    #[error("the task was asked to stop")]
    Cancelled,
    /// The attempt has lost its lease to another one.
    #[error("this attempt has lost its lease on task {0}")]
    LeaseLost(TaskId),
    /// The task has no value: it has not completed.
    #[error("task {handle} did not complete: {detail}")]
    NotCompleted {
        /// The handle of the task.
        handle: String,
        /// Its state, or how it ended.
        detail: String,
    },
    /// The retention of the event after the cursor is over.
    #[error(transparent)]
    CursorExpired(#[from] CursorExpired),
    /// A duration is zero that must not be.
    #[error("{what} must be longer than zero")]
    ZeroDuration {
        /// The name of the duration.
        what: &'static str,
    },
    /// The operation needs a task or session as its caller.
    #[error("{0}")]
    NoContext(&'static str),
    /// The runtime was opened outside a Tokio runtime, without an environment.
    #[error("open the runtime inside a Tokio runtime, or give it an environment")]
    NoExecutor,
    /// The runtime is closed.
    #[error("the runtime is closed: open it again")]
    Closed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The records kept changing concurrently.
    #[error("the record kept changing: try again")]
    Contended,
}

impl Error {
    /// The error for a failed commit that is not decided again.
    pub(crate) fn from_commit(error: CommitError) -> Self {
        match error {
            CommitError::Store(error) => Self::Store(error),
            CommitError::Conflict(conflict) => Self::from_conflict(conflict),
        }
    }

    pub(crate) fn from_conflict(conflict: Conflict) -> Self {
        match conflict {
            Conflict::Cap(cap) => Self::Cap(cap),
            Conflict::OwnerClosed(owner) => Self::OwnerClosed(owner),
            Conflict::LeaseOver(task) => Self::LeaseLost(task),
            Conflict::NoTask(task) => Self::not_found(task),
            Conflict::InboxFull { owner, limit } => Self::Full { owner, limit },
            Conflict::RowGone(row) => Self::RowGone(row),
            Conflict::QuestionClosed(task, number) => Self::QuestionClosed { task, number },
            Conflict::NoSession(session) => Self::no_session(session),
            Conflict::Counter { name, value } => Self::Limit { counter: name, value },
            _ => Self::Contended,
        }
    }

    pub(crate) fn no_session(what: impl ToString) -> Self {
        Self::NoSession { what: what.to_string() }
    }

    pub(crate) fn not_found(what: impl ToString) -> Self {
        Self::NotFound { what: what.to_string(), nearest: None }
    }
}

fn suggest(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|handle| format!(": did you mean {handle:?}?")).unwrap_or_default()
}

fn list(ids: &[TaskId]) -> String {
    const SHOWN: usize = 16;
    let shown: Vec<_> = ids.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = match ids.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" (+{more} more)"),
    };
    shown.join(", ") + &more
}
