//! The suite holds for a store that answers from another thread, as those on a
//! disk do: neither its cases nor the injected faults lean on an answer that
//! is there at once.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use offshoot_core::{
    Blob, Counts, Cursor, MessageId, Name, Owner, Question, Retention, Session, SessionId, Space,
    Stamp, StepState, Task, TaskId, Timer, WorkerId,
};
use offshoot_store::conformance::Fixture;
use offshoot_store::{
    Batch, Commit, CommitError, Counter, EventPage, Expired, HistoryPage, Memory, Page, PageCursor,
    Pending, Read, Standing, Store, StoreError, TaskQuery, Tenure,
};
use tokio::sync::{Notify, oneshot};

type Reply = oneshot::Sender<Result<Cursor, CommitError>>;
type Asked = (Batch, Reply);

/// A memory store with one writer thread before it.
#[derive(Debug)]
struct Behind {
    memory: Memory,
    writer: Option<(mpsc::Sender<Asked>, JoinHandle<()>)>,
}

impl Behind {
    fn new(memory: Memory) -> Self {
        let (writer, batches) = mpsc::channel::<Asked>();
        let written = memory.clone();
        let thread = std::thread::spawn(move || {
            for (batch, reply) in batches {
                if let Ok(answer) = written.commit(batch).try_now() {
                    // The asker may have gone; the commit stands.
                    drop(reply.send(answer));
                }
            }
        });
        Self { memory, writer: Some((writer, thread)) }
    }
}

impl Drop for Behind {
    /// Nothing is written once the store is gone.
    fn drop(&mut self) {
        if let Some((writer, thread)) = self.writer.take() {
            drop(writer);
            drop(thread.join());
        }
    }
}

/// Hands these methods on to the memory store.
macro_rules! hand_on {
    ($(fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, $arg: $type)*) -> $answer { self.memory.$name($($arg),*) })*
    };
}

impl Store for Behind {
    fn commit(&self, batch: Batch) -> Commit {
        let (reply, answer) = oneshot::channel();
        match &self.writer {
            Some((writer, _)) if writer.send((batch, reply)).is_ok() => Commit::later(answer),
            _ => Commit::ready(Err(StoreError::Closed.into())),
        }
    }

    hand_on! {
        fn claim(&self, worker: WorkerId) -> Result<Tenure, StoreError>;
        fn session(&self, id: SessionId) -> Read<Option<Session>>;
        fn session_named(&self, space: &Space, name: &Name) -> Read<Option<Session>>;
        fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Read<Page<Session>>;
        fn task(&self, id: TaskId) -> Read<Option<Task>>;
        fn named(&self, owner: Owner, key: &str) -> Read<Option<Task>>;
        fn keyed(&self, owner: Owner, key: &str) -> Read<Option<Task>>;
        fn tasks(&self, query: TaskQuery) -> Read<Page<Task>>;
        fn counts(&self, owner: Owner) -> Read<Counts>;
        fn counts_within(&self, session: Option<SessionId>) -> Read<Counts>;
        fn inbox(&self, owner: Owner, after: u64, limit: usize) -> Read<Vec<Pending>>;
        fn unread(&self, owner: Owner, limit: usize) -> Read<usize>;
        fn result_row(&self, task: TaskId) -> Read<Option<Pending>>;
        fn message(&self, owner: Owner, message: MessageId) -> Read<Option<Standing>>;
        fn history(&self, owner: Owner, first: u64, limit: usize) -> Read<HistoryPage>;
        fn step(&self, task: TaskId, key: &str) -> Read<Option<StepState>>;
        fn questions(&self, task: TaskId) -> Read<Vec<Question>>;
        fn timers(&self, task: TaskId) -> Read<Vec<Timer>>;
        fn counter(&self, counter: &Counter) -> Read<u64>;
        fn cursor(&self) -> Cursor;
        fn bell(&self, session: SessionId) -> Arc<Notify>;
        fn put_blob(&self, task: TaskId, json: Arc<str>) -> Read<Blob>;
        fn blob(&self, blob: Blob) -> Read<Option<Arc<str>>>;
        fn delete_blob(&self, blob: Blob) -> Read<()>;
        fn expire(&self, now: Stamp, limit: usize) -> Read<usize>;
        fn remove(&self, session: SessionId, limit: usize) -> Read<usize>;
        fn set_retention(&self, retention: Retention) -> ();
        fn close(&self, patience: Duration) -> Read<()>;
        fn events(
            &self,
            session: Option<SessionId>,
            after: Cursor,
            limit: usize
        ) -> Read<Result<EventPage, Expired>>;
    }
}

struct InMemory(Memory);

impl Fixture for InMemory {
    fn open(&self) -> Read<Arc<dyn Store>> {
        Read::ready(Ok(Arc::new(Behind::new(self.0.clone()))))
    }
}

offshoot_store::conformance!(InMemory(Memory::new()));
