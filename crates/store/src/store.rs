//! The contract of a store.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Blob, Cursor, MessageId, Name, Owner, Question, Retention, SessionId, SessionRecord, Space,
    Stamp, StepState, Task, TaskCounts, TaskId, Timer, WorkerId,
};
use tokio::sync::{Notify, watch};

use crate::batch::{Batch, Counter};
use crate::error::StoreError;
use crate::future::{CommitFuture, ReadFuture};
use crate::query::{
    CursorExpired, EventPage, HistoryPage, MessagePosition, Page, PageCursor, PendingRow, TaskQuery,
};

/// A store of records.
///
/// # Commits
/// A commit is atomic. When it is answered, it is durable (as far as the store is durable)
/// and visible to every later read. Commits have a total order, and each session's log
/// follows it.
///
/// [`StoreError::NotWritten`] and [`StoreError::Full`] mean that nothing was written. After
/// [`StoreError::Unknown`] the caller must read to find out. After [`StoreError::Removed`]
/// or [`StoreError::Corrupt`] the store neither reads nor writes. Dropping a
/// [`CommitFuture`] does not undo the commit.
///
/// # Reads
/// A read sees whole commits only. A missing item is `None` or empty, and never an error.
/// Lists are paged; a task that exists during the whole listing is listed exactly once.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Makes a batch durable, or refuses it as a whole.
    fn commit(&self, batch: Batch) -> CommitFuture;

    /// Claims the store for `worker`. An exclusive store refuses further claims until the
    /// claim is dropped.
    fn claim(&self, worker: WorkerId) -> Result<StoreClaim, StoreError>;

    /// The session with this id.
    fn session(&self, id: SessionId) -> ReadFuture<Option<SessionRecord>>;

    /// The session with this name.
    fn session_named(&self, space: &Space, name: &Name) -> ReadFuture<Option<SessionRecord>>;

    /// A page of sessions, oldest first.
    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> ReadFuture<Page<SessionRecord>>;

    /// The task with this id.
    fn task(&self, id: TaskId) -> ReadFuture<Option<Task>>;

    /// The task that `owner` refers to by this name: the live one, or else the one that
    /// ended last.
    fn named(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>>;

    /// The task that `owner` spawned with this key.
    fn keyed(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>>;

    /// A page of the tasks that match a query.
    fn tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>>;

    /// The number of tasks that `owner` owns, by phase.
    fn counts(&self, owner: Owner) -> ReadFuture<TaskCounts>;

    /// The number of tasks in a session or in the whole store, by phase.
    fn counts_within(&self, session: Option<SessionId>) -> ReadFuture<TaskCounts>;

    /// The pending rows of an inbox after the row with this number, in order.
    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> ReadFuture<Vec<PendingRow>>;

    /// The number of pending rows in an inbox, counted up to `limit`, which bounds the
    /// cost.
    fn unread(&self, owner: Owner, limit: usize) -> ReadFuture<usize>;

    /// The pending row with the result of `task`, in any inbox.
    fn result_row(&self, task: TaskId) -> ReadFuture<Option<PendingRow>>;

    /// The position of a message to `owner`; `None` if it was consumed or never sent. The
    /// cost does not depend on the size of the inbox.
    fn message(&self, owner: Owner, message: MessageId) -> ReadFuture<Option<MessagePosition>>;

    /// Up to `limit` blocks of a history from position `first` on.
    fn history(&self, owner: Owner, first: u64, limit: usize) -> ReadFuture<HistoryPage>;

    /// The state of a step.
    fn step(&self, task: TaskId, key: &str) -> ReadFuture<Option<StepState>>;

    /// The task's questions, oldest first.
    fn questions(&self, task: TaskId) -> ReadFuture<Vec<Question>>;

    /// The task's timers.
    fn timers(&self, task: TaskId) -> ReadFuture<Vec<Timer>>;

    /// The value of a counter; zero if it was never changed.
    fn counter(&self, counter: &Counter) -> ReadFuture<u64>;

    /// Up to `limit` events after a cursor, of one session or of all. The removal of a
    /// session deletes its events.
    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> ReadFuture<Result<EventPage, CursorExpired>>;

    /// The cursor of the last event.
    fn cursor(&self) -> Cursor;

    /// The notifier of a session's log. It is notified after each commit that adds events,
    /// and when the session is removed.
    fn notifier(&self, session: SessionId) -> Arc<Notify>;

    /// Stores a value beside the records. It is durable when this is answered.
    fn put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob>;

    /// The value of a blob.
    fn blob(&self, blob: Blob) -> ReadFuture<Option<Arc<str>>>;

    /// Deletes a value that no record refers to. Deleting a missing value is not an error.
    fn delete_blob(&self, blob: Blob) -> ReadFuture<()>;

    /// Deletes up to `limit` items whose retention has ended, and logs an event for each
    /// deleted task. Returns the number of deleted items; zero means that nothing is due.
    fn expire(&self, now: Stamp, limit: usize) -> ReadFuture<usize>;

    /// Deletes up to `limit` items of a session that is [being
    /// removed](SessionRecord::is_removing), in this order: its tasks with their data, its inbox,
    /// history, counters and log, and its record. Returns the number of deleted items; zero
    /// means that the session is gone or is not being removed. Its name stays taken until
    /// the end.
    fn remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize>;

    /// Sets what the store keeps, and for how long.
    fn set_retention(&self, retention: Retention);

    /// The error after which the store stops serving: it is damaged, or its files were
    /// removed. Pending writes are answered with it.
    fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        watch::channel(None).1
    }

    /// Reads all stored data and reports damage. A damaged store stops serving.
    fn check(&self) -> ReadFuture<()> {
        ReadFuture::ready(Ok(()))
    }

    /// Waits up to `patience` for pending operations, and closes the store.
    fn close(&self, patience: Duration) -> ReadFuture<()>;
}

/// The right to use a store. Dropping it releases the store.
pub struct StoreClaim(Option<Box<dyn FnOnce() + Send + Sync>>);

/// Whether other workers can hold the store at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// No other worker: any other worker with a lease is dead.
    Exclusive,
    /// Any number of workers.
    Shared,
}

impl StoreClaim {
    /// A claim on a store that only one worker can hold. Dropping it calls `release`.
    pub fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }

    /// A claim on a store that many workers can hold.
    pub fn shared() -> Self {
        Self(None)
    }

    /// Whether other workers can hold the store at the same time.
    pub fn kind(&self) -> ClaimKind {
        if self.0.is_some() { ClaimKind::Exclusive } else { ClaimKind::Shared }
    }
}

impl std::fmt::Debug for StoreClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Claim")
    }
}

impl Drop for StoreClaim {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// A source of a store for a runtime: a store, or a location to open one at.
pub trait OpenStore {
    /// Whether the store was opened elsewhere and is closed there. A runtime closes a store
    /// that it opened itself.
    const SHARED: bool = false;

    /// Opens the store.
    fn open_store(self) -> ReadFuture<Arc<dyn Store>>;
}

impl OpenStore for Arc<dyn Store> {
    const SHARED: bool = true;

    fn open_store(self) -> ReadFuture<Arc<dyn Store>> {
        ReadFuture::ready(Ok(self))
    }
}
