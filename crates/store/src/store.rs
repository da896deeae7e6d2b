//! The contract of a store.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Blob, Counts, Cursor, MessageId, Name, Owner, Question, Retention, Session, SessionId, Space,
    Stamp, StepState, Task, TaskId, Timer, WorkerId,
};
use tokio::sync::{Notify, watch};

use crate::batch::{Batch, Counter};
use crate::error::StoreError;
use crate::query::{
    EventPage, Expired, HistoryPage, Page, PageCursor, Pending, Standing, TaskQuery,
};
use crate::ready::{Commit, Read};

/// Where records live.
///
/// # Commits
/// A commit is atomic, durable when its answer comes (as far as the store is
/// durable at all), and visible to every read that begins after the answer.
/// Commits have one order, and the log shows each session's in that order.
/// [`StoreError::NotWritten`] and [`StoreError::Full`] promise that nothing
/// was written; [`StoreError::Unknown`] promises nothing, and the caller reads
/// to find out. After [`StoreError::Removed`] or [`StoreError::Corrupt`] nothing
/// is written or read any more. Dropping a [`Commit`] does not take it back.
///
/// # Reads
/// A read sees whole commits only. A missing thing is `None` or empty, never
/// an error. Lists are paged, and a task that is there throughout is listed
/// exactly once.
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Makes a batch durable, or says why not.
    fn commit(&self, batch: Batch) -> Commit;

    /// Claims the store for `worker`: until the claim is dropped, no other
    /// worker gets one from a store that only one process may hold.
    fn claim(&self, worker: WorkerId) -> Result<Tenure, StoreError>;

    /// The session with this id.
    fn session(&self, id: SessionId) -> Read<Option<Session>>;

    /// The session with this name.
    fn session_named(&self, space: &Space, name: &Name) -> Read<Option<Session>>;

    /// The sessions, oldest first.
    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Read<Page<Session>>;

    /// The task with this id.
    fn task(&self, id: TaskId) -> Read<Option<Task>>;

    /// The task that `owner` calls so: the live one, else the one that ended
    /// last.
    fn named(&self, owner: Owner, key: &str) -> Read<Option<Task>>;

    /// The task that `owner` spawned with this key.
    fn keyed(&self, owner: Owner, key: &str) -> Read<Option<Task>>;

    /// The tasks a query asks for.
    fn tasks(&self, query: TaskQuery) -> Read<Page<Task>>;

    /// How many tasks `owner` owns, by phase.
    fn counts(&self, owner: Owner) -> Read<Counts>;

    /// How many tasks there are in a session, or in all, by phase.
    fn counts_within(&self, session: Option<SessionId>) -> Read<Counts>;

    /// The pending rows of an inbox after the row of this number, in order.
    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> Read<Vec<Pending>>;

    /// How many rows are pending in an inbox, counted up to `limit`, which is
    /// what it may cost.
    fn unread(&self, owner: Owner, limit: usize) -> Read<usize>;

    /// The pending row that tells of the end of `task`, whosever inbox it is
    /// in.
    fn result_row(&self, task: TaskId) -> Read<Option<Pending>>;

    /// Where a message to `owner` is; `None` if it was consumed or never sent.
    /// It costs the same however much else is in the inbox.
    fn message(&self, owner: Owner, message: MessageId) -> Read<Option<Standing>>;

    /// Up to `limit` blocks of a history from position `first` on.
    fn history(&self, owner: Owner, first: u64, limit: usize) -> Read<HistoryPage>;

    /// How far a step has come.
    fn step(&self, task: TaskId, key: &str) -> Read<Option<StepState>>;

    /// A task's questions, oldest first.
    fn questions(&self, task: TaskId) -> Read<Vec<Question>>;

    /// A task's timers.
    fn timers(&self, task: TaskId) -> Read<Vec<Timer>>;

    /// What a counter stands at; zero if it was never changed.
    fn counter(&self, counter: &Counter) -> Read<u64>;

    /// Up to `limit` events after a cursor, of one session or of all. Those of
    /// a session that was removed are gone with it.
    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Read<Result<EventPage, Expired>>;

    /// Where the log stands.
    fn cursor(&self) -> Cursor;

    /// What is notified after each commit that adds to a session's log, and
    /// when the session is gone.
    fn bell(&self, session: SessionId) -> Arc<Notify>;

    /// Keeps a value beside the records, durable when the answer comes.
    fn put_blob(&self, task: TaskId, json: Arc<str>) -> Read<Blob>;

    /// The value of a blob.
    fn blob(&self, blob: Blob) -> Read<Option<Arc<str>>>;

    /// Deletes a value that no record refers to. One that is not there is no
    /// error.
    fn delete_blob(&self, blob: Blob) -> Read<()>;

    /// Deletes up to `limit` things whose retention has ended, with an event
    /// each for tasks; how many. Zero means that nothing is due.
    fn expire(&self, now: Stamp, limit: usize) -> Read<usize>;

    /// Deletes up to `limit` things of a session that is
    /// [being removed](Session::is_removing): its tasks and all they have, its
    /// inbox, history, counters and log, and last its record; how many. Zero
    /// means that the session is gone, or is not being removed. Until the last
    /// of it is gone its name is taken.
    fn remove(&self, session: SessionId, limit: usize) -> Read<usize>;

    /// What the store keeps, and how long.
    fn set_retention(&self, retention: Retention);

    /// The error after which the store serves nothing more, once there is one:
    /// it is damaged, or its files were taken away. Requests that wait for
    /// something to be written are ended with it.
    fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        watch::channel(None).1
    }

    /// Reads everything that is stored, and says what is damaged. A store that
    /// is found damaged serves nothing more.
    fn check(&self) -> Read<()> {
        Read::ready(Ok(()))
    }

    /// Waits for what is under way, for at most `patience`, and closes.
    fn close(&self, patience: Duration) -> Read<()>;
}

/// The right to use a store. Dropping it gives the right back.
pub struct Tenure(Option<Box<dyn FnOnce() + Send + Sync>>);

/// Who else may hold a store meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Nobody: any other worker with a lease is dead.
    Sole,
    /// Any number of workers.
    Shared,
}

impl Tenure {
    /// The tenure of somebody who holds the store alone; it ends with
    /// `release`.
    pub fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }

    /// The tenure of one among many.
    pub fn shared() -> Self {
        Self(None)
    }

    /// Who else may hold the store meanwhile.
    pub fn holding(&self) -> Holding {
        if self.0.is_some() { Holding::Sole } else { Holding::Shared }
    }
}

impl std::fmt::Debug for Tenure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tenure")
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

/// What a runtime opens its store from: a store, or where to find one.
pub trait OpenStore {
    /// Whether the store was open before and stays so: then whoever opened it
    /// closes it. A runtime closes what it opened itself.
    const SHARED: bool = false;

    /// Opens the store.
    fn open_store(self) -> Read<Arc<dyn Store>>;
}

impl OpenStore for Arc<dyn Store> {
    const SHARED: bool = true;

    fn open_store(self) -> Read<Arc<dyn Store>> {
        Read::ready(Ok(self))
    }
}
