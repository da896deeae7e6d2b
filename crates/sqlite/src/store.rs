//! The store: what is in memory is answered at once, the rest is handed on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Blob, Counts, Cursor, MessageId, Name, Owner, Phase, Question, Retention, Session, SessionId,
    Space, Stamp, StepState, Task, TaskId, Timer, WorkerId,
};
use offshoot_store::{
    Batch, Commit, CommitError, Counter, EventPage, Expired, HistoryPage, Page, PageCursor,
    Pending, Read, Standing, Store, StoreError, TaskQuery, Tenure, Within,
};
use tokio::sync::{Notify, oneshot, watch};

use crate::check::check_all;
use crate::folder::Folder;
use crate::image::Image;
use crate::shared::{Request, Shared};

/// A store in a data folder.
///
/// Made by opening a [`Folder`]. Commits and reads are handed to threads of the
/// store's own; when thousands wait already, whoever hands in another is held
/// back until there is room. Dropping the last handle finishes what was
/// handed in, ends the threads and gives the folder back.
#[derive(Debug)]
pub struct Sqlite {
    shared: Arc<Shared>,
    writer: std::thread::ThreadId,
}

impl Sqlite {
    /// The store in the folder at `path`, to be opened. A relative path is
    /// meant from where the process is when the folder is opened; all spellings
    /// of a path are one folder.
    pub fn at(path: impl Into<PathBuf>) -> Folder {
        Folder::new(path.into())
    }

    /// The handle to a store; made on the thread that writes.
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, writer: std::thread::current().id() }
    }

    fn see<T>(&self, see: impl FnOnce(&Image) -> T) -> Read<T> {
        match self.shared.check_serving() {
            Err(error) => Read::ready(Err(error)),
            Ok(()) => Read::ready(Ok(see(&self.shared.image.read()))),
        }
    }

    fn glance<T>(&self, glance: impl FnOnce(&Image) -> Option<T>) -> Option<Read<T>> {
        if let Err(error) = self.shared.check_serving() {
            return Some(Read::ready(Err(error)));
        }
        glance(&self.shared.image.read()).map(|seen| Read::ready(Ok(seen)))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.shared.close();
        // The folder is free when the drop returns, so that it can be opened
        // again at once; only the writer itself cannot wait for the writer.
        if std::thread::current().id() != self.writer {
            self.shared.gone.wait();
        }
    }
}

impl Store for Sqlite {
    fn commit(&self, batch: Batch) -> Commit {
        let (reply, answer) = oneshot::channel();
        match self.shared.requests.push(Request::Commit { batch, reply }) {
            Ok(()) => Commit::later(answer),
            Err(_) => Commit::ready(Err(CommitError::Store(StoreError::Closed))),
        }
    }

    fn claim(&self, worker: WorkerId) -> Result<Tenure, StoreError> {
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
        Ok(Tenure::new(move || *shared.holder.lock() = None))
    }

    fn session(&self, id: SessionId) -> Read<Option<Session>> {
        self.see(|image| image.session(id).cloned())
    }

    fn session_named(&self, space: &Space, name: &Name) -> Read<Option<Session>> {
        self.see(|image| image.session_named(space, name).cloned())
    }

    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Read<Page<Session>> {
        self.see(|image| image.sessions(after, limit))
    }

    fn task(&self, id: TaskId) -> Read<Option<Task>> {
        let seen = self.glance(|image| image.directory.task(id).cloned().map(Some));
        seen.unwrap_or_else(|| self.shared.read(move |file| file.task(id)))
    }

    fn named(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
        // A task of that name in memory is the live one or the one that ended
        // last: those that ended earlier left memory earlier.
        let seen = self.glance(|image| image.directory.named(owner, key).cloned().map(Some));
        seen.unwrap_or_else(|| {
            let key = Box::<str>::from(key);
            self.shared.read(move |file| file.named(owner, &key))
        })
    }

    fn keyed(&self, owner: Owner, key: &str) -> Read<Option<Task>> {
        let seen = self.glance(|image| image.directory.keyed(owner, key).cloned().map(Some));
        seen.unwrap_or_else(|| {
            let key = Box::<str>::from(key);
            self.shared.read(move |file| file.keyed(owner, &key))
        })
    }

    fn tasks(&self, query: TaskQuery) -> Read<Page<Task>> {
        let live = |phase: &Phase| !phase.is_terminal();
        let all_live = !query.phases.is_empty() && query.phases.iter().all(live);
        let seen = self.glance(|image| {
            // An owner that has left memory took its list along.
            let here = match query.within {
                Within::Owner(Owner::Task(id)) => image.directory.task(id).is_some(),
                _ => true,
            };
            (all_live && here).then(|| image.directory.page(&query))
        });
        if let Some(seen) = seen {
            return seen;
        }
        self.shared.read(move |file| file.tasks(&query))
    }

    fn counts(&self, owner: Owner) -> Read<Counts> {
        let seen = self.glance(|image| match owner {
            Owner::Session(_) => Some(image.directory.counts(owner)),
            Owner::Task(id) => image.directory.task(id).map(|_| image.directory.counts(owner)),
        });
        seen.unwrap_or_else(|| match owner {
            Owner::Session(_) => Read::ready(Ok(Counts::default())),
            Owner::Task(id) => self.shared.read(move |file| file.owned(id)),
        })
    }

    fn counts_within(&self, session: Option<SessionId>) -> Read<Counts> {
        self.see(|image| image.directory.counts_within(session))
    }

    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> Read<Vec<Pending>> {
        self.shared.read(move |file| file.inbox(owner, after, limit))
    }

    fn unread(&self, owner: Owner, limit: usize) -> Read<usize> {
        self.shared.read(move |file| file.unread(owner, limit))
    }

    fn result_row(&self, task: TaskId) -> Read<Option<Pending>> {
        let seen = self.glance(|image| image.result_row(task));
        seen.unwrap_or_else(|| self.shared.read(move |file| file.result_row(task)))
    }

    fn message(&self, owner: Owner, message: MessageId) -> Read<Option<Standing>> {
        self.shared.read(move |file| file.message(owner, message))
    }

    fn history(&self, owner: Owner, first: u64, limit: usize) -> Read<HistoryPage> {
        self.shared.read(move |file| file.history(owner, first, limit))
    }

    fn step(&self, task: TaskId, key: &str) -> Read<Option<StepState>> {
        let key = Box::<str>::from(key);
        self.shared.read(move |file| file.step(task, &key))
    }

    fn questions(&self, task: TaskId) -> Read<Vec<Question>> {
        self.shared.read(move |file| file.questions(task))
    }

    fn timers(&self, task: TaskId) -> Read<Vec<Timer>> {
        self.shared.read(move |file| file.timers(task))
    }

    fn counter(&self, counter: &Counter) -> Read<u64> {
        let counter = counter.clone();
        self.shared.read(move |file| file.counter(&counter))
    }

    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Read<Result<EventPage, Expired>> {
        let seen = self.glance(|image| image.events(session, after, limit));
        seen.unwrap_or_else(|| self.shared.read(move |file| file.events(session, after, limit)))
    }

    fn cursor(&self) -> Cursor {
        Cursor::new(self.shared.image.read().clock)
    }

    fn bell(&self, session: SessionId) -> Arc<Notify> {
        let image = self.shared.image.read();
        image.desks.get(&session).map(|desk| desk.bell.clone()).unwrap_or_default()
    }

    fn put_blob(&self, task: TaskId, json: Arc<str>) -> Read<Blob> {
        if self.shared.is_closed() {
            return Read::ready(Err(StoreError::Closed));
        }
        let shared = self.shared.clone();
        self.shared.hand(move |_| {
            // Looked up first: to write would make a folder that was removed.
            shared.presence.check()?;
            shared.blobs.put(task, &json)
        })
    }

    fn blob(&self, blob: Blob) -> Read<Option<Arc<str>>> {
        if self.shared.is_closed() {
            return Read::ready(Err(StoreError::Closed));
        }
        let shared = self.shared.clone();
        self.shared.hand(move |_| shared.blobs.get(blob))
    }

    fn delete_blob(&self, blob: Blob) -> Read<()> {
        if self.shared.is_closed() {
            return Read::ready(Err(StoreError::Closed));
        }
        let shared = self.shared.clone();
        self.shared.hand(move |_| shared.blobs.delete(blob))
    }

    fn expire(&self, now: Stamp, limit: usize) -> Read<usize> {
        let (reply, answer) = oneshot::channel();
        match self.shared.requests.push(Request::Expire { now, limit, reply }) {
            Ok(()) => Read::later(answer),
            Err(_) => Read::ready(Err(StoreError::Closed)),
        }
    }

    fn remove(&self, session: SessionId, limit: usize) -> Read<usize> {
        let (reply, answer) = oneshot::channel();
        match self.shared.requests.push(Request::Remove { session, limit, reply }) {
            Ok(()) => Read::later(answer),
            Err(_) => Read::ready(Err(StoreError::Closed)),
        }
    }

    fn set_retention(&self, retention: Retention) {
        *self.shared.retention.lock() = retention;
    }

    fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        self.shared.presence.failure()
    }

    fn check(&self) -> Read<()> {
        self.shared.read(|file| check_all(file.connection))
    }

    fn close(&self, patience: Duration) -> Read<()> {
        self.shared.close();
        let (reply, answer) = oneshot::channel();
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name("offshoot-close".into());
        let started = thread.spawn(move || {
            let closed = match shared.gone.wait_for(patience) {
                true => Ok(()),
                false => Err(StoreError::Unknown("the store is still closing".into())),
            };
            // Nobody is left to tell if the caller has gone.
            reply.send(closed).ok();
        });
        match started {
            Ok(_) => Read::later(answer),
            Err(error) => Read::ready(Err(StoreError::Unknown(error.to_string().into()))),
        }
    }
}
