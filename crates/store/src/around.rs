//! A store around another.
//!
//! What fails, dies or misbehaves on purpose does so in a commit or two, and
//! is otherwise the store inside. So such a store says only what it changes;
//! the rest is passed on here, for all of them.

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
use crate::store::{Store, Tenure};

/// A store that changes what another one does. Whatever is around a store is a
/// [`Store`] itself.
pub trait Around: Send + Sync + std::fmt::Debug + 'static {
    /// The store inside, or why it cannot be reached any more.
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError>;

    /// What becomes of a commit.
    fn commit_around(&self, batch: Batch) -> Commit;

    /// What becomes of a list.
    fn tasks_around(&self, query: TaskQuery) -> Read<Page<Task>> {
        pass_on(self, |inner| inner.tasks(query))
    }

    /// What becomes of a value that is kept beside the records.
    fn put_blob_around(&self, task: TaskId, json: Arc<str>) -> Read<Blob> {
        pass_on(self, |inner| inner.put_blob(task, json))
    }

    /// What becomes of the removal of a session, or of a part of it.
    fn remove_around(&self, session: SessionId, limit: usize) -> Read<usize> {
        pass_on(self, |inner| inner.remove(session, limit))
    }

    /// What becomes of what shall be kept, and for how long.
    fn set_retention_around(&self, retention: Retention) {
        // A store that cannot be reached keeps what it keeps.
        if let Ok(inner) = self.inner() {
            inner.set_retention(retention);
        }
    }

    /// Where the log stood when the store inside was last there.
    fn last_cursor(&self) -> Cursor {
        Cursor::START
    }
}

fn pass_on<A: Around + ?Sized, T>(around: &A, read: impl FnOnce(&dyn Store) -> Read<T>) -> Read<T> {
    match around.inner() {
        Ok(inner) => read(&*inner),
        Err(error) => Read::ready(Err(error)),
    }
}

impl<A: Around> Store for A {
    fn commit(&self, batch: Batch) -> Commit {
        self.commit_around(batch)
    }

    fn claim(&self, worker: WorkerId) -> Result<Tenure, StoreError> {
        self.inner()?.claim(worker)
    }

    fn session(&self, id: SessionId) -> Read<Option<Session>> {
        pass_on(self, |inner| inner.session(id))
    }

    fn session_named(&self, space: &Space, name: &Name) -> Read<Option<Session>> {
        pass_on(self, |inner| inner.session_named(space, name))
    }

    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Read<Page<Session>> {
        pass_on(self, |inner| inner.sessions(after, limit))
    }

    fn task(&self, id: TaskId) -> Read<Option<Task>> {
        pass_on(self, |inner| inner.task(id))
    }

    fn named(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
        pass_on(self, |inner| inner.named(owner, key))
    }

    fn keyed(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
        pass_on(self, |inner| inner.keyed(owner, key))
    }

    fn tasks(&self, query: TaskQuery) -> Read<Page<Task>> {
        self.tasks_around(query)
    }

    fn counts(&self, owner: Owner) -> Read<Counts> {
        pass_on(self, |inner| inner.counts(owner))
    }

    fn counts_within(&self, session: Option<SessionId>) -> Read<Counts> {
        pass_on(self, |inner| inner.counts_within(session))
    }

    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> Read<Vec<Pending>> {
        pass_on(self, |inner| inner.inbox(owner, after, limit))
    }

    fn unread(&self, owner: Owner, limit: usize) -> Read<usize> {
        pass_on(self, |inner| inner.unread(owner, limit))
    }

    fn result_row(&self, task: TaskId) -> Read<Option<Pending>> {
        pass_on(self, |inner| inner.result_row(task))
    }

    fn message(&self, owner: Owner, message: MessageId) -> Read<Option<Standing>> {
        pass_on(self, |inner| inner.message(owner, message))
    }

    fn history(&self, owner: Owner, first: u64, limit: usize) -> Read<HistoryPage> {
        pass_on(self, |inner| inner.history(owner, first, limit))
    }

    fn step(&self, task: TaskId, key: &str) -> Read<Option<StepState>> {
        pass_on(self, |inner| inner.step(task, key))
    }

    fn questions(&self, task: TaskId) -> Read<Vec<Question>> {
        pass_on(self, |inner| inner.questions(task))
    }

    fn timers(&self, task: TaskId) -> Read<Vec<Timer>> {
        pass_on(self, |inner| inner.timers(task))
    }

    fn counter(&self, counter: &Counter) -> Read<u64> {
        pass_on(self, |inner| inner.counter(counter))
    }

    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Read<Result<EventPage, Expired>> {
        pass_on(self, |inner| inner.events(session, after, limit))
    }

    fn cursor(&self) -> Cursor {
        self.inner().map_or_else(|_| self.last_cursor(), |inner| inner.cursor())
    }

    fn bell(&self, session: SessionId) -> Arc<Notify> {
        self.inner().map(|inner| inner.bell(session)).unwrap_or_default()
    }

    fn put_blob(&self, task: TaskId, json: Arc<str>) -> Read<Blob> {
        self.put_blob_around(task, json)
    }

    fn blob(&self, blob: Blob) -> Read<Option<Arc<str>>> {
        pass_on(self, |inner| inner.blob(blob))
    }

    fn delete_blob(&self, blob: Blob) -> Read<()> {
        pass_on(self, |inner| inner.delete_blob(blob))
    }

    fn expire(&self, now: Stamp, limit: usize) -> Read<usize> {
        pass_on(self, |inner| inner.expire(now, limit))
    }

    fn remove(&self, session: SessionId, limit: usize) -> Read<usize> {
        self.remove_around(session, limit)
    }

    fn set_retention(&self, retention: Retention) {
        self.set_retention_around(retention);
    }

    fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        match self.inner() {
            Ok(inner) => inner.failure(),
            Err(_) => watch::channel(None).1,
        }
    }

    fn check(&self) -> Read<()> {
        pass_on(self, |inner| inner.check())
    }

    fn close(&self, patience: Duration) -> Read<()> {
        pass_on(self, |inner| inner.close(patience))
    }
}
