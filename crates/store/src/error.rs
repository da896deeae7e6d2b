//! Why a commit or a read did not happen.

use std::path::PathBuf;
use std::sync::Arc;

use offshoot_core::{CapReached, MessageId, Owner, RowId, SessionId, TaskId};

/// Why a commit did not happen.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    /// A precondition failed and nothing was written: read again, decide again.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The precondition that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The stored record is not the one the decision was made on.
    #[error("task {0} has changed meanwhile")]
    Stale(TaskId),
    /// The stored session is not the one the decision was made on.
    #[error("session {0} has changed meanwhile")]
    StaleSession(SessionId),
    /// The lease is somebody else's, or over.
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
        /// Which.
        session: SessionId,
        /// How many.
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
    /// A task of the same owner was spawned with the key.
    #[error("task {0} was spawned with this key")]
    KeyUsed(TaskId),
    /// The owner takes no new tasks.
    #[error("{0} is ending and takes no new tasks")]
    OwnerClosed(Owner),
    /// A cap is reached.
    #[error(transparent)]
    Cap(#[from] CapReached),
    /// A task's children are not as the decision supposed.
    #[error("the children of task {0} have changed meanwhile")]
    Children(TaskId),
    /// The task has ended and reads no messages.
    #[error("task {0} has ended")]
    Ended(TaskId),
    /// The inbox is full.
    #[error("the inbox of {owner} is full: {limit} unread messages")]
    InboxFull {
        /// Whose.
        owner: Owner,
        /// How many it may hold.
        limit: usize,
    },
    /// The same sender has sent the same message there under the key.
    #[error("message {0} was sent with this key")]
    MessageKeyUsed(MessageId),
    /// The same sender has sent another message there under the key.
    #[error("message {0}, which says something else, was sent with this key")]
    MessageKeyReused(MessageId),
    /// The row is not pending in that inbox.
    #[error("row {0} is not pending")]
    RowGone(RowId),
    /// The step has a value.
    #[error("step {1:?} of task {0} has a value already")]
    StepCommitted(TaskId, Arc<str>),
    /// The question is not open, or its number is not the next.
    #[error("question {1} of task {0} is not open")]
    QuestionClosed(TaskId, u32),
    /// A counter would leave its bounds.
    #[error("the counter {name:?} stands at {value} and may not go past its limit")]
    Counter {
        /// Which.
        name: Arc<str>,
        /// What it is.
        value: u64,
    },
}

/// The store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written.
    #[error("the store could not write: {0}")]
    NotWritten(Arc<str>),
    /// Whether anything was written is not known: read to find out.
    #[error("the store did not say whether it wrote: {0}")]
    Unknown(Arc<str>),
    /// A read failed.
    #[error("the store could not read: {0}")]
    NotRead(Arc<str>),
    /// The disk is full: free some space; nothing acknowledged is lost.
    #[error("the disk under {path} is full: free some space and try again")]
    Full {
        /// Where the store is.
        path: PathBuf,
    },
    /// There can be no store here as things are.
    #[error("the data folder {path:?} cannot be used: {detail}")]
    Unusable {
        /// Where the store would be.
        path: PathBuf,
        /// Why not, and what to do about it.
        detail: Arc<str>,
    },
    /// The store was taken away while it was open. What was answered before is
    /// wherever the files are now; nothing has been answered since.
    #[error(
        "the data folder {path} was moved, removed or replaced while it was open: \
         put it back, or choose another, and open it again"
    )]
    Removed {
        /// Where the store was.
        path: PathBuf,
    },
    /// Somebody else holds the store.
    #[error("the store {path} is in use by {holder}: stop that process, or go through it")]
    Locked {
        /// Where the store is.
        path: PathBuf,
        /// Who holds it, as far as it says.
        holder: Arc<str>,
    },
    /// A newer version of Offshoot wrote the store; it is left as it is.
    #[error(
        "the store {path} has format {found} and this version reads up to {known}: \
         use a newer version of Offshoot"
    )]
    Newer {
        /// Where the store is.
        path: PathBuf,
        /// The format it has.
        found: u32,
        /// The newest format this version reads.
        known: u32,
    },
    /// The store is damaged; it is left as it is.
    #[error(
        "the store {path} is damaged ({detail}): restore it from a backup, or run \
         `offshoot doctor --repair`, which saves all that can be read"
    )]
    Corrupt {
        /// Where the store is.
        path: PathBuf,
        /// What is wrong with it.
        detail: Arc<str>,
    },
    /// The data directory held a database, and it is gone. No empty one is put
    /// in its place.
    #[error(
        "the database {path} is missing, and this data directory had one: restore it from a \
         backup, or run `offshoot doctor --repair` to start with an empty one"
    )]
    Missing {
        /// Where the database was.
        path: PathBuf,
    },
    /// The store was closed.
    #[error("the store is closed: open it again")]
    Closed,
}
