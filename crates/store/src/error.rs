//! Errors of commits and reads.

use std::path::PathBuf;
use std::sync::Arc;

use offshoot_core::{CapReached, MessageId, Owner, RowId, SessionId, TaskId};

/// Why a commit did not happen.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// A precondition failed and nothing was written. Read again and decide again.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A failed precondition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The record has changed since the decision.
    #[error("task {0} has changed meanwhile")]
    Stale(TaskId),
    /// The session has changed since the decision.
    #[error("session {0} has changed meanwhile")]
    StaleSession(SessionId),
    /// The lease has ended, or another worker has it.
    #[error("the lease on task {0} is over")]
    LeaseOver(TaskId),
    /// There is no such task.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// There is no such session, or it is being removed.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// The session has live tasks.
    #[error("{live} tasks of session {session} are live")]
    SessionBusy {
        /// The session.
        session: SessionId,
        /// The number of live tasks.
        live: u64,
    },
    /// A task with this id exists.
    #[error("task {0} exists already")]
    TaskExists(TaskId),
    /// A session with this name exists.
    #[error("session {0} has this name already")]
    SessionExists(SessionId),
    /// A live task of the same owner has the name.
    #[error("task {0} has this name already")]
    NameTaken(TaskId),
    /// The owner has spawned a task with the same key.
    #[error("task {0} was spawned with this key")]
    KeyUsed(TaskId),
    /// The owner is ending and takes no new tasks.
    #[error("{0} is ending and takes no new tasks")]
    OwnerClosed(Owner),
    /// A cap is reached.
    #[error(transparent)]
    Cap(#[from] CapReached),
    /// The task's children have changed since the decision.
    #[error("the children of task {0} have changed meanwhile")]
    Children(TaskId),
    /// The task has ended and reads no messages.
    #[error("task {0} has ended")]
    Ended(TaskId),
    /// The inbox is full.
    #[error("the inbox of {owner} is full: {limit} unread messages")]
    InboxFull {
        /// The owner of the inbox.
        owner: Owner,
        /// The maximum number of unread messages.
        limit: usize,
    },
    /// The sender has sent the same message with this key.
    #[error("message {0} was sent with this key")]
    MessageKeyUsed(MessageId),
    /// The sender has sent a different message with this key.
    #[error("message {0}, which says something else, was sent with this key")]
    MessageKeyReused(MessageId),
    /// The row is not pending in that inbox.
    #[error("row {0} is not pending")]
    RowGone(RowId),
    /// The step already has a value.
    #[error("step {1:?} of task {0} has a value already")]
    StepCommitted(TaskId, Arc<str>),
    /// The question is not open, or its number is not the next one.
    #[error("question {1} of task {0} is not open")]
    QuestionClosed(TaskId, u32),
    /// The counter would exceed its bounds.
    #[error("the counter {name:?} is {value} and may not go past its limit")]
    Counter {
        /// The counter's name.
        name: Arc<str>,
        /// Its value.
        value: u64,
    },
}

/// A failure of the store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written.
    #[error("the store could not write: {0}")]
    NotWritten(Arc<str>),
    /// It is unknown whether anything was written: read to find out.
    #[error("the store did not say whether it wrote: {0}")]
    Unknown(Arc<str>),
    /// A read failed.
    #[error("the store could not read: {0}")]
    NotRead(Arc<str>),
    /// The disk is full. No acknowledged data is lost.
    #[error("the disk under {path} is full: free some space and try again")]
    Full {
        /// The location of the store.
        path: PathBuf,
    },
    /// The data directory cannot be used.
    #[error("the data directory {path:?} cannot be used: {detail}")]
    Unusable {
        /// The location of the store.
        path: PathBuf,
        /// The reason, and what to do about it.
        detail: Arc<str>,
    },
    /// The store's files were moved, removed or replaced while it was open. Everything that
    /// was acknowledged is in the original files.
    #[error(
        "the data directory {path} was moved, removed or replaced while it was open: \
         put it back, or choose another, and open it again"
    )]
    Removed {
        /// The location of the store.
        path: PathBuf,
    },
    /// Another process holds the store.
    #[error("the store {path} is in use by {holder}: stop that process, or go through it")]
    Locked {
        /// The location of the store.
        path: PathBuf,
        /// The holder, as far as known.
        holder: Arc<str>,
    },
    /// A newer version of Offshoot wrote the store. It is left unchanged.
    #[error(
        "the store {path} has format {found} and this version reads up to {known}: \
         use a newer version of Offshoot"
    )]
    Newer {
        /// The location of the store.
        path: PathBuf,
        /// The format of the store.
        found: u32,
        /// The newest format that this version reads.
        known: u32,
    },
    /// The store is damaged. It is left unchanged.
    #[error(
        "the store {path} is damaged ({detail}): restore it from a backup, or run \
         `offshoot doctor --repair`, which saves all that can be read"
    )]
    Corrupt {
        /// The location of the store.
        path: PathBuf,
        /// The kind of damage.
        detail: Arc<str>,
    },
    /// The data directory had a database, and the database is missing. It is not replaced
    /// by an empty one.
    #[error(
        "the database {path} is missing, and this data directory had one: restore it from a \
         backup, or run `offshoot doctor --repair` to start with an empty one"
    )]
    Missing {
        /// The location of the database.
        path: PathBuf,
    },
    /// The store was closed.
    #[error("the store is closed: open it again")]
    Closed,
}
