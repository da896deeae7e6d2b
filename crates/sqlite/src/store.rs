//! The public store: answers from memory, or passes requests to its threads.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Blob, Cursor, MessageId, Name, Owner, Phase, Question, Retention, SessionId, SessionRecord,
    Space, Stamp, StepState, Task, TaskCounts, TaskId, Timer, WorkerId,
};
use offshoot_store::{
    Batch, CommitError, CommitFuture, Counter, CursorExpired, EventPage, HistoryPage,
    MessagePosition, Page, PageCursor, PendingRow, ReadFuture, Store, StoreClaim, StoreError,
    TaskQuery, TaskScope,
};
use tokio::sync::{Notify, oneshot, watch};

use crate::check::check_all;
use crate::error::SqliteError;
use crate::image::StoreImage;
use crate::read::{FileSnapshot, read_file};
use crate::shared::{StoreShared, WriteRequest};

/// A store in a data directory.
///
/// It is created by opening a [`DataDir`](crate::DataDir). Its own threads execute commits
/// and reads. When thousands of requests are pending, further callers are blocked. Dropping
/// the last handle finishes pending requests, ends the threads and releases the directory.
#[derive(Debug)]
pub struct Sqlite {
    shared: Arc<StoreShared>,
    writer: std::thread::ThreadId,
}

impl Sqlite {
    /// Creates the handle. OwnedName on the writer thread.
    pub(crate) fn new(shared: Arc<StoreShared>) -> Self {
        Self { shared, writer: std::thread::current().id() }
    }

    fn read_file<T: Send + 'static>(
        &self,
        read: impl FnOnce(&FileSnapshot<'_>) -> Result<T, SqliteError> + Send + 'static,
    ) -> ReadFuture<T> {
        read_file(&self.shared, read)
    }

    fn see<T>(&self, see: impl FnOnce(&StoreImage) -> T) -> ReadFuture<T> {
        match self.shared.check_serving() {
            Err(error) => ReadFuture::ready(Err(error)),
            Ok(()) => ReadFuture::ready(Ok(see(&self.shared.image.read()))),
        }
    }

    fn glance<T>(&self, glance: impl FnOnce(&StoreImage) -> Option<T>) -> Option<ReadFuture<T>> {
        if let Err(error) = self.shared.check_serving() {
            return Some(ReadFuture::ready(Err(error)));
        }
        glance(&self.shared.image.read()).map(|seen| ReadFuture::ready(Ok(seen)))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.shared.close();
        // The directory is free when the drop returns. The writer thread itself cannot wait
        // for its own end.
        if std::thread::current().id() != self.writer {
            self.shared.gone.wait();
        }
    }
}

impl Store for Sqlite {
    fn commit(&self, batch: Batch) -> CommitFuture {
        let (reply, answer) = oneshot::channel();
        match self.shared.requests.push(WriteRequest::Commit { batch, reply }) {
            Ok(()) => CommitFuture::later(answer),
            Err(_) => CommitFuture::ready(Err(CommitError::Store(StoreError::Closed))),
        }
    }

    fn claim(&self, worker: WorkerId) -> Result<StoreClaim, StoreError> {
        if self.shared.is_closed() {
            return Err(StoreError::Closed);
        }
        let mut holder = self.shared.holder.lock();
        if let Some(holder) = *holder {
            let holder = format!("worker {holder} of this process").into();
            return Err(StoreError::Locked { path: self.shared.path.clone(), holder });
        }
        *holder = Some(worker);
        let shared = self.shared.clone();
        Ok(StoreClaim::new(move || *shared.holder.lock() = None))
    }

    fn session(&self, id: SessionId) -> ReadFuture<Option<SessionRecord>> {
        self.see(|image| image.session(id).cloned())
    }

    fn session_named(&self, space: &Space, name: &Name) -> ReadFuture<Option<SessionRecord>> {
        self.see(|image| image.session_named(space, name).cloned())
    }

    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> ReadFuture<Page<SessionRecord>> {
        self.see(|image| image.sessions(after, limit))
    }

    fn task(&self, id: TaskId) -> ReadFuture<Option<Task>> {
        let seen = self.glance(|image| image.index.task(id).cloned().map(Some));
        seen.unwrap_or_else(|| self.read_file(move |file| file.task(id)))
    }

    fn named(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        // A task with this name in memory is the live one or the one that ended last,
        // because earlier ones are evicted earlier.
        let seen = self.glance(|image| image.index.named(owner, key).cloned().map(Some));
        seen.unwrap_or_else(|| {
            let key = Box::<str>::from(key);
            self.read_file(move |file| file.named(owner, &key))
        })
    }

    fn keyed(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        let seen = self.glance(|image| image.index.keyed(owner, key).cloned().map(Some));
        seen.unwrap_or_else(|| {
            let key = Box::<str>::from(key);
            self.read_file(move |file| file.keyed(owner, &key))
        })
    }

    fn tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>> {
        let live = |phase: &Phase| !phase.is_terminal();
        let all_live = !query.phases.is_empty() && query.phases.iter().all(live);
        let seen = self.glance(|image| {
            // An owner that is not in memory has no list there.
            let here = match query.within {
                TaskScope::Owner(Owner::Task(id)) => image.index.task(id).is_some(),
                _ => true,
            };
            (all_live && here).then(|| image.index.page(&query))
        });
        if let Some(seen) = seen {
            return seen;
        }
        self.read_file(move |file| file.tasks(&query))
    }

    fn counts(&self, owner: Owner) -> ReadFuture<TaskCounts> {
        let seen = self.glance(|image| match owner {
            Owner::Session(_) => Some(image.index.counts(owner)),
            Owner::Task(id) => image.index.task(id).map(|_| image.index.counts(owner)),
        });
        seen.unwrap_or_else(|| match owner {
            Owner::Session(_) => ReadFuture::ready(Ok(TaskCounts::default())),
            Owner::Task(id) => self.read_file(move |file| file.owned(id)),
        })
    }

    fn counts_within(&self, session: Option<SessionId>) -> ReadFuture<TaskCounts> {
        self.see(|image| image.index.counts_within(session))
    }

    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> ReadFuture<Vec<PendingRow>> {
        self.read_file(move |file| file.inbox(owner, after, limit))
    }

    fn unread(&self, owner: Owner, limit: usize) -> ReadFuture<usize> {
        self.read_file(move |file| file.unread(owner, limit))
    }

    fn result_row(&self, task: TaskId) -> ReadFuture<Option<PendingRow>> {
        let seen = self.glance(|image| image.result_row(task));
        seen.unwrap_or_else(|| self.read_file(move |file| file.result_row(task)))
    }

    fn message(&self, owner: Owner, message: MessageId) -> ReadFuture<Option<MessagePosition>> {
        self.read_file(move |file| file.message(owner, message))
    }

    fn history(&self, owner: Owner, first: u64, limit: usize) -> ReadFuture<HistoryPage> {
        self.read_file(move |file| file.history(owner, first, limit))
    }

    fn step(&self, task: TaskId, key: &str) -> ReadFuture<Option<StepState>> {
        let key = Box::<str>::from(key);
        self.read_file(move |file| file.step(task, &key))
    }

    fn questions(&self, task: TaskId) -> ReadFuture<Vec<Question>> {
        self.read_file(move |file| file.questions(task))
    }

    fn timers(&self, task: TaskId) -> ReadFuture<Vec<Timer>> {
        self.read_file(move |file| file.timers(task))
    }

    fn counter(&self, counter: &Counter) -> ReadFuture<u64> {
        let counter = counter.clone();
        self.read_file(move |file| file.counter(&counter))
    }

    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> ReadFuture<Result<EventPage, CursorExpired>> {
        let seen = self.glance(|image| image.events(session, after, limit));
        seen.unwrap_or_else(|| self.read_file(move |file| file.events(session, after, limit)))
    }

    fn cursor(&self) -> Cursor {
        Cursor::new(self.shared.image.read().clock)
    }

    fn notifier(&self, session: SessionId) -> Arc<Notify> {
        let image = self.shared.image.read();
        image.entries.get(&session).map(|entry| entry.notifier.clone()).unwrap_or_default()
    }

    fn put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob> {
        if self.shared.is_closed() {
            return ReadFuture::ready(Err(StoreError::Closed));
        }
        let shared = self.shared.clone();
        self.shared.run_job(move |_| {
            // Checked first, because a write would create a removed directory again.
            shared.presence.check()?;
            shared.blobs.put(task, &json)
        })
    }

    fn blob(&self, blob: Blob) -> ReadFuture<Option<Arc<str>>> {
        if self.shared.is_closed() {
            return ReadFuture::ready(Err(StoreError::Closed));
        }
        let shared = self.shared.clone();
        self.shared.run_job(move |_| shared.blobs.get(blob))
    }

    fn delete_blob(&self, blob: Blob) -> ReadFuture<()> {
        if self.shared.is_closed() {
            return ReadFuture::ready(Err(StoreError::Closed));
        }
        let shared = self.shared.clone();
        self.shared.run_job(move |_| shared.blobs.delete(blob))
    }

    fn expire(&self, now: Stamp, limit: usize) -> ReadFuture<usize> {
        let (reply, answer) = oneshot::channel();
        match self.shared.requests.push(WriteRequest::Expire { now, limit, reply }) {
            Ok(()) => ReadFuture::later(answer),
            Err(_) => ReadFuture::ready(Err(StoreError::Closed)),
        }
    }

    fn remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        let (reply, answer) = oneshot::channel();
        match self.shared.requests.push(WriteRequest::Remove { session, limit, reply }) {
            Ok(()) => ReadFuture::later(answer),
            Err(_) => ReadFuture::ready(Err(StoreError::Closed)),
        }
    }

    fn set_retention(&self, retention: Retention) {
        *self.shared.retention.lock() = retention;
    }

    fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        self.shared.presence.failure()
    }

    fn check(&self) -> ReadFuture<()> {
        self.read_file(|file| check_all(file.connection))
    }

    fn close(&self, patience: Duration) -> ReadFuture<()> {
        self.shared.close();
        let (reply, answer) = oneshot::channel();
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name("offshoot-close".into());
        let started = thread.spawn(move || {
            let closed = match shared.gone.wait_for(patience) {
                true => Ok(()),
                false => Err(StoreError::Unknown("the store is still closing".into())),
            };
            // The caller may be gone.
            reply.send(closed).ok();
        });
        match started {
            Ok(_) => ReadFuture::later(answer),
            Err(error) => ReadFuture::ready(Err(StoreError::Unknown(error.to_string().into()))),
        }
    }
}
