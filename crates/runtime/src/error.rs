//! What can go wrong, and what to do about it.

use std::sync::Arc;

use offshoot_core::{
    CapReached, MessageId, NameError, Owner, PayloadError, RowId, SessionBusy, State, TaskId,
    TooLarge,
};
use offshoot_store::{CommitError, Conflict, Expired, StoreError};

/// Why an operation did not happen. Unless it says otherwise, nothing changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is not one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A live task of the same owner has the name.
    #[error("the name {name:?} is taken by the live task {holder}: choose another, or wait for it")]
    NameTaken {
        /// The name.
        name: String,
        /// Who has it.
        holder: TaskId,
    },
    /// Nothing within reach is called so.
    #[error("there is no task {what:?} here{}", suggest(.nearest))]
    NotFound {
        /// What was asked for.
        what: String,
        /// The handle most like it, if there is one.
        nearest: Option<String>,
    },
    /// There is no such session, or it is being removed.
    #[error("there is no session {what:?}: it was removed, or never opened")]
    NoSession {
        /// Its name or id.
        what: String,
    },
    /// The session has live tasks and cannot be removed.
    #[error(transparent)]
    SessionBusy(#[from] SessionBusy),
    /// The task exists, but not for this caller.
    #[error("task {0} belongs to somebody else: ask its owner")]
    Forbidden(TaskId),
    /// Several tasks are called so.
    #[error("{what:?} names several tasks: use one of the ids {}", list(.ids))]
    Ambiguous {
        /// What was asked for.
        what: String,
        /// Which they are.
        ids: Vec<TaskId>,
    },
    /// The task has ended.
    #[error("task {id} has already ended ({state})")]
    Ended {
        /// Which.
        id: TaskId,
        /// How.
        state: State,
    },
    /// A cap is reached.
    #[error(transparent)]
    Cap(#[from] CapReached),
    /// The owner is ending, was asked to stop, or is being removed.
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
        /// What it was used for.
        task: TaskId,
    },
    /// The sender has used the key for another message to the same recipient.
    #[error(
        "the key {key:?} was used for another message to {to} ({message}): \
         use a new key, or send the same text again"
    )]
    MessageKeyReused {
        /// The key.
        key: Arc<str>,
        /// Whom the messages are for.
        to: Owner,
        /// What it was used for.
        message: MessageId,
    },
    /// The task has used the key for another question.
    #[error("the key {key:?} was used for another question (number {number}): use a new key")]
    QuestionKeyReused {
        /// The key.
        key: Arc<str>,
        /// What it was used for.
        number: u32,
    },
    /// Something is larger than it may be.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The task takes no messages.
    #[error("task {0} takes no messages")]
    TakesNoMessages(TaskId),
    /// The task's last message was sent: it takes none any more, however much
    /// room its inbox has.
    #[error("the input of task {0} has been ended: it reads no more messages")]
    InputEnded(TaskId),
    /// The inbox is full.
    #[error("the inbox of {owner} is full ({limit} unread messages): try again later")]
    Full {
        /// Whose.
        owner: Owner,
        /// How many it holds.
        limit: usize,
    },
    /// The task's kind cannot do what is asked.
    #[error("tasks of kind {kind:?} cannot do this: missing {}", .missing.join(", "))]
    Incapable {
        /// The kind.
        kind: Arc<str>,
        /// What it lacks.
        missing: Vec<&'static str>,
    },
    /// The task has ended, and what would go on for it cannot be executed here.
    #[error("task {id} has ended, and cannot go on: {what}")]
    Lacks {
        /// Which.
        id: TaskId,
        /// What keeps this process from it.
        what: String,
    },
    /// The kind is not registered here.
    #[error("the kind {0:?} is not registered: register it before the runtime is opened")]
    UnknownKind(Arc<str>),
    /// The kind is registered twice.
    #[error("the kind {0:?} is registered twice: give each kind a name of its own")]
    DuplicateKind(Arc<str>),
    /// A kind has the name of the kind of closures.
    #[error("{0:?} is the kind of closures: give yours another name")]
    ReservedKind(Arc<str>),
    /// A blank or over-long kind.
    #[error("{0:?} cannot name a kind: {1}")]
    BadKind(String, NameError),
    /// A blank or over-long profile, or one that no handle can begin with.
    #[error("{0:?} cannot name a profile: {1}")]
    BadProfile(String, NameError),
    /// A value could not be written or read as JSON.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The question is not open any more.
    #[error(
        "question {number} of task {task} is not open: it was never asked, or is answered or withdrawn"
    )]
    QuestionClosed {
        /// Who asked.
        task: TaskId,
        /// Which of its questions.
        number: u32,
    },
    /// Somebody else has acknowledged the row, or it has moved on with its
    /// owner's end.
    #[error("row {0} is not pending here any more: drain again for what is left")]
    RowGone(RowId),
    /// A counter would leave its bounds.
    #[error("the counter {counter:?} stands at {value} and may not go past its limit")]
    Limit {
        /// Which.
        counter: Arc<str>,
        /// What it is.
        value: u64,
    },
    /// A step was begun before, declared `once`, and nothing is known of it.
    #[error("step {0:?} began before and whether it took effect is unknown")]
    Unknown(Arc<str>),
    /// A step was taken inside the work of a step of the same key.
    #[error("step {0:?} is taken inside itself: give the inner one a key of its own")]
    StepInsideItself(Arc<str>),
    /// A body waits for its own task, which cannot end before the wait does.
    #[error("task {0} cannot wait for itself: wait for its children, or return")]
    WaitsForItself(TaskId),
    /// The waiting task was itself asked to stop.
    #[error("the task was asked to stop")]
    Cancelled,
    /// The attempt has lost its lease: another one goes on.
    #[error("this attempt has lost its lease on task {0}")]
    LeaseLost(TaskId),
    /// The outcome is not the wanted one.
    #[error("task {handle} did not complete: {detail}")]
    NotCompleted {
        /// The task.
        handle: String,
        /// How it stands or ended.
        detail: String,
    },
    /// The log before the cursor's successor was deleted.
    #[error(transparent)]
    CursorExpired(#[from] Expired),
    /// A duration that means nothing.
    #[error("{what} must be longer than zero")]
    ZeroDuration {
        /// What.
        what: &'static str,
    },
    /// The operation needs a task or session to act for.
    #[error("{0}")]
    NoContext(&'static str),
    /// Tokio is needed and not there.
    #[error("open the runtime inside a Tokio runtime, or give it an environment")]
    NoExecutor,
    /// The runtime is shut down.
    #[error("the runtime is closed: open it again")]
    Closed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The records did not come to rest: somebody changes them as fast as they
    /// are read.
    #[error("the record kept changing: try again")]
    Contended,
}

impl Error {
    /// The error for a commit that failed and cannot be decided again.
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
