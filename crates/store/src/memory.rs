//! The store that forgets everything with its process: the speed reference,
//! and the disk of the simulation.

mod apply;
mod check;
mod inbox;
mod ledger;
mod log;
mod notes;
mod removal;
mod retention;
mod rows;

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Blob, Counts, Cursor, MessageId, Name, Owner, Question, Retention, Session, SessionId, Space,
    Stamp, StepState, Task, TaskId, Timer, WorkerId,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::ledger::Ledger;
use crate::batch::{Batch, Counter};
use crate::error::StoreError;
use crate::query::{
    EventPage, Expired, HistoryPage, Page, PageCursor, Pending, Standing, TaskQuery,
};
use crate::ready::{Commit, Read};
use crate::store::{OpenStore, Store, Tenure};

/// A store in memory. Clones share what is stored, so that a runtime can be
/// opened on what another one left behind.
///
/// It keeps the newest acknowledged tasks of each session, and all that is
/// live or unread.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    ledger: Mutex<Ledger>,
    holder: Mutex<Option<WorkerId>>,
    holders: Holders,
}

/// How many workers may hold the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Holders {
    #[default]
    One,
    Many,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that any number of workers may hold at once, as a
    /// cluster's store is held.
    pub fn for_many_workers() -> Self {
        Self(Arc::new(Shared { holders: Holders::Many, ..Shared::default() }))
    }

    fn read<T>(&self, read: impl FnOnce(&Ledger) -> T) -> Read<T> {
        Read::ready(Ok(read(&self.0.ledger.lock())))
    }
}

impl Store for Memory {
    fn commit(&self, mut batch: Batch) -> Commit {
        let mut ledger = self.0.ledger.lock();
        if let Err(conflict) = ledger.check(&batch) {
            drop(ledger);
            return Commit::ready(Err(conflict.into()));
        }
        let cursor = ledger.apply(&mut batch);
        // What is forgotten is freed without the lock.
        let forgotten = ledger.take_forgotten();
        drop(ledger);
        drop(forgotten);
        Commit::ready(Ok(cursor))
    }

    fn claim(&self, worker: WorkerId) -> Result<Tenure, StoreError> {
        if self.0.holders == Holders::Many {
            return Ok(Tenure::shared());
        }
        let mut holder = self.0.holder.lock();
        if let Some(holder) = *holder {
            let holder = format!("worker {holder}").into();
            return Err(StoreError::Locked { path: "(memory)".into(), holder });
        }
        *holder = Some(worker);
        let shared = self.0.clone();
        Ok(Tenure::new(move || *shared.holder.lock() = None))
    }

    fn session(&self, id: SessionId) -> Read<Option<Session>> {
        self.read(|ledger| ledger.session(id).cloned())
    }

    fn session_named(&self, space: &Space, name: &Name) -> Read<Option<Session>> {
        self.read(|ledger| ledger.session_named(space, name).cloned())
    }

    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Read<Page<Session>> {
        self.read(|ledger| ledger.sessions_page(after, limit))
    }

    fn task(&self, id: TaskId) -> Read<Option<Task>> {
        self.read(|ledger| ledger.directory.task(id).cloned())
    }

    fn named(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
        self.read(|ledger| ledger.directory.named(owner, key).cloned())
    }

    fn keyed(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
        self.read(|ledger| ledger.directory.keyed(owner, key).cloned())
    }

    fn tasks(&self, query: TaskQuery) -> Read<Page<Task>> {
        self.read(|ledger| ledger.directory.page(&query))
    }

    fn counts(&self, owner: Owner) -> Read<Counts> {
        self.read(|ledger| ledger.directory.counts(owner))
    }

    fn counts_within(&self, session: Option<SessionId>) -> Read<Counts> {
        self.read(|ledger| ledger.directory.counts_within(session))
    }

    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> Read<Vec<Pending>> {
        self.read(|ledger| ledger.pending(owner, after, limit))
    }

    fn unread(&self, owner: Owner, limit: usize) -> Read<usize> {
        self.read(|ledger| ledger.unread(owner).min(limit))
    }

    fn result_row(&self, task: TaskId) -> Read<Option<Pending>> {
        self.read(|ledger| ledger.result_row(task))
    }

    fn message(&self, owner: Owner, message: MessageId) -> Read<Option<Standing>> {
        self.read(|ledger| ledger.message(owner, message))
    }

    fn history(&self, owner: Owner, first: u64, limit: usize) -> Read<HistoryPage> {
        self.read(|ledger| ledger.history(owner, first, limit))
    }

    fn step(&self, task: TaskId, key: &str) -> Read<Option<StepState>> {
        self.read(|ledger| ledger.step(task, key).cloned())
    }

    fn questions(&self, task: TaskId) -> Read<Vec<Question>> {
        self.read(|ledger| ledger.questions(task).to_vec())
    }

    fn timers(&self, task: TaskId) -> Read<Vec<Timer>> {
        self.read(|ledger| ledger.timers(task).to_vec())
    }

    fn counter(&self, counter: &Counter) -> Read<u64> {
        self.read(|ledger| ledger.counter(counter))
    }

    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Read<Result<EventPage, Expired>> {
        self.read(|ledger| ledger.events(session, after, limit))
    }

    fn cursor(&self) -> Cursor {
        self.0.ledger.lock().cursor()
    }

    fn bell(&self, session: SessionId) -> Arc<Notify> {
        self.0.ledger.lock().bell(session)
    }

    fn put_blob(&self, task: TaskId, json: Arc<str>) -> Read<Blob> {
        Read::ready(Ok(self.0.ledger.lock().put_blob(task, json)))
    }

    fn blob(&self, blob: Blob) -> Read<Option<Arc<str>>> {
        self.read(|ledger| ledger.blob(blob))
    }

    fn delete_blob(&self, blob: Blob) -> Read<()> {
        self.0.ledger.lock().delete_blob(blob);
        Read::ready(Ok(()))
    }

    fn expire(&self, now: Stamp, limit: usize) -> Read<usize> {
        let mut ledger = self.0.ledger.lock();
        let deleted = ledger.expire(now, limit);
        let forgotten = ledger.take_forgotten();
        drop(ledger);
        drop(forgotten);
        Read::ready(Ok(deleted))
    }

    fn remove(&self, session: SessionId, limit: usize) -> Read<usize> {
        let mut ledger = self.0.ledger.lock();
        let (deleted, remains) = ledger.remove(session, limit.max(1));
        let forgotten = ledger.take_forgotten();
        drop(ledger);
        drop((forgotten, remains));
        Read::ready(Ok(deleted))
    }

    fn set_retention(&self, retention: Retention) {
        self.0.ledger.lock().retention = retention;
    }

    fn close(&self, _patience: Duration) -> Read<()> {
        Read::ready(Ok(()))
    }
}

impl OpenStore for Memory {
    fn open_store(self) -> Read<Arc<dyn Store>> {
        Read::ready(Ok(Arc::new(self)))
    }
}
