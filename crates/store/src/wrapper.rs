//! A wrapper around a store, for tests.
//!
//! Stores that fail, crash or misbehave on purpose override a few operations and pass the
//! others on to the inner store. The forwarding is written here once.

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
use crate::store::{Store, StoreClaim};

/// A store that changes operations of an inner store. Every implementor is a [`Store`].
pub trait StoreWrapper: Send + Sync + std::fmt::Debug + 'static {
    /// The inner store, or why it is not available.
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError>;

    /// Handles a commit.
    fn wrap_commit(&self, batch: Batch) -> CommitFuture;

    /// Handles a list.
    fn wrap_tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>> {
        pass_on(self, |inner| inner.tasks(query))
    }

    /// Handles the storage of a blob.
    fn wrap_put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob> {
        pass_on(self, |inner| inner.put_blob(task, json))
    }

    /// Handles the removal of a session, or of a part of it.
    fn wrap_remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        pass_on(self, |inner| inner.remove(session, limit))
    }

    /// Handles a change of the retention.
    fn wrap_set_retention(&self, retention: Retention) {
        // An unavailable store keeps its retention.
        if let Ok(inner) = self.inner() {
            inner.set_retention(retention);
        }
    }

    /// The last known cursor of the inner store.
    fn last_cursor(&self) -> Cursor {
        Cursor::START
    }
}

fn pass_on<A: StoreWrapper + ?Sized, T>(
    around: &A,
    read: impl FnOnce(&dyn Store) -> ReadFuture<T>,
) -> ReadFuture<T> {
    match around.inner() {
        Ok(inner) => read(&*inner),
        Err(error) => ReadFuture::ready(Err(error)),
    }
}

impl<A: StoreWrapper> Store for A {
    fn commit(&self, batch: Batch) -> CommitFuture {
        self.wrap_commit(batch)
    }

    fn claim(&self, worker: WorkerId) -> Result<StoreClaim, StoreError> {
        self.inner()?.claim(worker)
    }

    fn session(&self, id: SessionId) -> ReadFuture<Option<SessionRecord>> {
        pass_on(self, |inner| inner.session(id))
    }

    fn session_named(&self, space: &Space, name: &Name) -> ReadFuture<Option<SessionRecord>> {
        pass_on(self, |inner| inner.session_named(space, name))
    }

    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> ReadFuture<Page<SessionRecord>> {
        pass_on(self, |inner| inner.sessions(after, limit))
    }

    fn task(&self, id: TaskId) -> ReadFuture<Option<Task>> {
        pass_on(self, |inner| inner.task(id))
    }

    fn named(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        pass_on(self, |inner| inner.named(owner, key))
    }

    fn keyed(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        pass_on(self, |inner| inner.keyed(owner, key))
    }

    fn tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>> {
        self.wrap_tasks(query)
    }

    fn counts(&self, owner: Owner) -> ReadFuture<TaskCounts> {
        pass_on(self, |inner| inner.counts(owner))
    }

    fn counts_within(&self, session: Option<SessionId>) -> ReadFuture<TaskCounts> {
        pass_on(self, |inner| inner.counts_within(session))
    }

    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> ReadFuture<Vec<PendingRow>> {
        pass_on(self, |inner| inner.inbox(owner, after, limit))
    }

    fn unread(&self, owner: Owner, limit: usize) -> ReadFuture<usize> {
        pass_on(self, |inner| inner.unread(owner, limit))
    }

    fn result_row(&self, task: TaskId) -> ReadFuture<Option<PendingRow>> {
        pass_on(self, |inner| inner.result_row(task))
    }

    fn message(&self, owner: Owner, message: MessageId) -> ReadFuture<Option<MessagePosition>> {
        pass_on(self, |inner| inner.message(owner, message))
    }

    fn history(&self, owner: Owner, first: u64, limit: usize) -> ReadFuture<HistoryPage> {
        pass_on(self, |inner| inner.history(owner, first, limit))
    }

    fn step(&self, task: TaskId, key: &str) -> ReadFuture<Option<StepState>> {
        pass_on(self, |inner| inner.step(task, key))
    }

    fn questions(&self, task: TaskId) -> ReadFuture<Vec<Question>> {
        pass_on(self, |inner| inner.questions(task))
    }

    fn timers(&self, task: TaskId) -> ReadFuture<Vec<Timer>> {
        pass_on(self, |inner| inner.timers(task))
    }

    fn counter(&self, counter: &Counter) -> ReadFuture<u64> {
        pass_on(self, |inner| inner.counter(counter))
    }

    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> ReadFuture<Result<EventPage, CursorExpired>> {
        pass_on(self, |inner| inner.events(session, after, limit))
    }

    fn cursor(&self) -> Cursor {
        self.inner().map_or_else(|_| self.last_cursor(), |inner| inner.cursor())
    }

    fn notifier(&self, session: SessionId) -> Arc<Notify> {
        self.inner().map(|inner| inner.notifier(session)).unwrap_or_default()
    }

    fn put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob> {
        self.wrap_put_blob(task, json)
    }

    fn blob(&self, blob: Blob) -> ReadFuture<Option<Arc<str>>> {
        pass_on(self, |inner| inner.blob(blob))
    }

    fn delete_blob(&self, blob: Blob) -> ReadFuture<()> {
        pass_on(self, |inner| inner.delete_blob(blob))
    }

    fn expire(&self, now: Stamp, limit: usize) -> ReadFuture<usize> {
        pass_on(self, |inner| inner.expire(now, limit))
    }

    fn remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        self.wrap_remove(session, limit)
    }

    fn set_retention(&self, retention: Retention) {
        self.wrap_set_retention(retention);
    }

    fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        match self.inner() {
            Ok(inner) => inner.failure(),
            Err(_) => watch::channel(None).1,
        }
    }

    fn check(&self) -> ReadFuture<()> {
        pass_on(self, |inner| inner.check())
    }

    fn close(&self, patience: Duration) -> ReadFuture<()> {
        pass_on(self, |inner| inner.close(patience))
    }
}
