//! The memory store: the speed reference, and the disk of simulations.

mod apply;
mod inbox;
mod log;
mod owner_data;
mod removal;
mod retention;
mod row_queue;
mod state;
mod view;

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Blob, Cursor, MessageId, Name, Owner, Question, Retention, SessionId, SessionRecord, Space,
    Stamp, StepState, Task, TaskCounts, TaskId, Timer, WorkerId,
};
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::state::MemoryState;
use crate::batch::{Batch, Counter};
use crate::check::check;
use crate::error::StoreError;
use crate::future::{CommitFuture, ReadFuture};
use crate::query::{
    CursorExpired, EventPage, HistoryPage, MessagePosition, Page, PageCursor, PendingRow, TaskQuery,
};
use crate::store::{OpenStore, Store, StoreClaim};

/// A store in memory. Clones share the data, so that a second runtime can open the data of
/// a previous one.
///
/// It keeps all live and unread tasks, and the newest acknowledged tasks of each session.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<MemoryShared>);

#[derive(Debug, Default)]
struct MemoryShared {
    state: Mutex<MemoryState>,
    holder: Mutex<Option<WorkerId>>,
    limit: ClaimLimit,
}

/// The number of workers that can hold the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClaimLimit {
    #[default]
    One,
    Many,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that many workers can hold at the same time, as in a cluster.
    pub fn for_many_workers() -> Self {
        Self(Arc::new(MemoryShared { limit: ClaimLimit::Many, ..MemoryShared::default() }))
    }

    fn read<T>(&self, read: impl FnOnce(&MemoryState) -> T) -> ReadFuture<T> {
        ReadFuture::ready(Ok(read(&self.0.state.lock())))
    }
}

impl Store for Memory {
    fn commit(&self, mut batch: Batch) -> CommitFuture {
        let mut state = self.0.state.lock();
        if let Err(conflict) = check(&batch, &mut &*state) {
            drop(state);
            return CommitFuture::ready(Err(conflict.into()));
        }
        let cursor = state.apply(&mut batch);
        // Deleted tasks are freed after the lock is released.
        let deleted_tasks = state.take_deleted();
        drop(state);
        drop(deleted_tasks);
        CommitFuture::ready(Ok(cursor))
    }

    fn claim(&self, worker: WorkerId) -> Result<StoreClaim, StoreError> {
        if self.0.limit == ClaimLimit::Many {
            return Ok(StoreClaim::shared());
        }
        let mut holder = self.0.holder.lock();
        if let Some(holder) = *holder {
            let holder = format!("worker {holder}").into();
            return Err(StoreError::Locked { path: "(memory)".into(), holder });
        }
        *holder = Some(worker);
        let shared = self.0.clone();
        Ok(StoreClaim::new(move || *shared.holder.lock() = None))
    }

    fn session(&self, id: SessionId) -> ReadFuture<Option<SessionRecord>> {
        self.read(|state| state.session(id).cloned())
    }

    fn session_named(&self, space: &Space, name: &Name) -> ReadFuture<Option<SessionRecord>> {
        self.read(|state| state.session_named(space, name).cloned())
    }

    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> ReadFuture<Page<SessionRecord>> {
        self.read(|state| state.sessions_page(after, limit))
    }

    fn task(&self, id: TaskId) -> ReadFuture<Option<Task>> {
        self.read(|state| state.index.task(id).cloned())
    }

    fn named(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        self.read(|state| state.index.named(owner, key).cloned())
    }

    fn keyed(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        self.read(|state| state.index.keyed(owner, key).cloned())
    }

    fn tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>> {
        self.read(|state| state.index.page(&query))
    }

    fn counts(&self, owner: Owner) -> ReadFuture<TaskCounts> {
        self.read(|state| state.index.counts(owner))
    }

    fn counts_within(&self, session: Option<SessionId>) -> ReadFuture<TaskCounts> {
        self.read(|state| state.index.counts_within(session))
    }

    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> ReadFuture<Vec<PendingRow>> {
        self.read(|state| state.pending(owner, after, limit))
    }

    fn unread(&self, owner: Owner, limit: usize) -> ReadFuture<usize> {
        self.read(|state| state.unread(owner).min(limit))
    }

    fn result_row(&self, task: TaskId) -> ReadFuture<Option<PendingRow>> {
        self.read(|state| state.result_row(task))
    }

    fn message(&self, owner: Owner, message: MessageId) -> ReadFuture<Option<MessagePosition>> {
        self.read(|state| state.message(owner, message))
    }

    fn history(&self, owner: Owner, first: u64, limit: usize) -> ReadFuture<HistoryPage> {
        self.read(|state| state.history(owner, first, limit))
    }

    fn step(&self, task: TaskId, key: &str) -> ReadFuture<Option<StepState>> {
        self.read(|state| state.step(task, key).cloned())
    }

    fn questions(&self, task: TaskId) -> ReadFuture<Vec<Question>> {
        self.read(|state| state.questions(task).to_vec())
    }

    fn timers(&self, task: TaskId) -> ReadFuture<Vec<Timer>> {
        self.read(|state| state.timers(task).to_vec())
    }

    fn counter(&self, counter: &Counter) -> ReadFuture<u64> {
        self.read(|state| state.counter(counter))
    }

    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> ReadFuture<Result<EventPage, CursorExpired>> {
        self.read(|state| state.events(session, after, limit))
    }

    fn cursor(&self) -> Cursor {
        self.0.state.lock().cursor()
    }

    fn notifier(&self, session: SessionId) -> Arc<Notify> {
        self.0.state.lock().notifier(session)
    }

    fn put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob> {
        ReadFuture::ready(Ok(self.0.state.lock().put_blob(task, json)))
    }

    fn blob(&self, blob: Blob) -> ReadFuture<Option<Arc<str>>> {
        self.read(|state| state.blob(blob))
    }

    fn delete_blob(&self, blob: Blob) -> ReadFuture<()> {
        self.0.state.lock().delete_blob(blob);
        ReadFuture::ready(Ok(()))
    }

    fn expire(&self, now: Stamp, limit: usize) -> ReadFuture<usize> {
        let mut state = self.0.state.lock();
        let deleted = state.expire(now, limit);
        let deleted_tasks = state.take_deleted();
        drop(state);
        drop(deleted_tasks);
        ReadFuture::ready(Ok(deleted))
    }

    fn remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        let mut state = self.0.state.lock();
        let (deleted, removed) = state.remove(session, limit.max(1));
        let deleted_tasks = state.take_deleted();
        drop(state);
        drop((deleted_tasks, removed));
        ReadFuture::ready(Ok(deleted))
    }

    fn set_retention(&self, retention: Retention) {
        self.0.state.lock().retention = retention;
    }

    fn close(&self, _patience: Duration) -> ReadFuture<()> {
        ReadFuture::ready(Ok(()))
    }
}

impl OpenStore for Memory {
    fn open_store(self) -> ReadFuture<Arc<dyn Store>> {
        ReadFuture::ready(Ok(Arc::new(self)))
    }
}
