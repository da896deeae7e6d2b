//! Runs the suite on a store that answers from another thread, as disk stores do.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use offshoot_core::{
    Blob, Cursor, MessageId, Name, Owner, Question, Retention, SessionId, SessionRecord, Space,
    Stamp, StepState, Task, TaskCounts, TaskId, Timer, WorkerId,
};
use offshoot_store::conformance::Fixture;
use offshoot_store::{
    Batch, CommitError, CommitFuture, Counter, CursorExpired, EventPage, HistoryPage, Memory,
    MessagePosition, Page, PageCursor, PendingRow, ReadFuture, Store, StoreClaim, StoreError,
    TaskQuery,
};
use tokio::sync::{Notify, oneshot};

type Reply = oneshot::Sender<Result<Cursor, CommitError>>;
type WriterRequest = (Batch, Reply);

/// A memory store behind a writer thread.
#[derive(Debug)]
struct Behind {
    memory: Memory,
    writer: Option<(mpsc::Sender<WriterRequest>, JoinHandle<()>)>,
}

impl Behind {
    fn new(memory: Memory) -> Self {
        let (writer, batches) = mpsc::channel::<WriterRequest>();
        let written = memory.clone();
        let thread = std::thread::spawn(move || {
            for (batch, reply) in batches {
                if let Ok(answer) = written.commit(batch).try_now() {
                    // The caller may be gone. The commit stays.
                    drop(reply.send(answer));
                }
            }
        });
        Self { memory, writer: Some((writer, thread)) }
    }
}

impl Drop for Behind {
    /// Nothing is written after the store is dropped.
    fn drop(&mut self) {
        if let Some((writer, thread)) = self.writer.take() {
            drop(writer);
            drop(thread.join());
        }
    }
}

/// Forwards these methods to the memory store.
macro_rules! hand_on {
    ($(fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, $arg: $type)*) -> $answer { self.memory.$name($($arg),*) })*
    };
}

impl Store for Behind {
    fn commit(&self, batch: Batch) -> CommitFuture {
        let (reply, answer) = oneshot::channel();
        match &self.writer {
            Some((writer, _)) if writer.send((batch, reply)).is_ok() => CommitFuture::later(answer),
            _ => CommitFuture::ready(Err(StoreError::Closed.into())),
        }
    }

    hand_on! {
        fn claim(&self, worker: WorkerId) -> Result<StoreClaim, StoreError>;
        fn session(&self, id: SessionId) -> ReadFuture<Option<SessionRecord>>;
        fn session_named(&self, space: &Space, name: &Name) -> ReadFuture<Option<SessionRecord>>;
        fn sessions(&self, after: Option<PageCursor>, limit: usize) -> ReadFuture<Page<SessionRecord>>;
        fn task(&self, id: TaskId) -> ReadFuture<Option<Task>>;
        fn named(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>>;
        fn keyed(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>>;
        fn tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>>;
        fn counts(&self, owner: Owner) -> ReadFuture<TaskCounts>;
        fn counts_within(&self, session: Option<SessionId>) -> ReadFuture<TaskCounts>;
        fn inbox(&self, owner: Owner, after: u64, limit: usize) -> ReadFuture<Vec<PendingRow>>;
        fn unread(&self, owner: Owner, limit: usize) -> ReadFuture<usize>;
        fn result_row(&self, task: TaskId) -> ReadFuture<Option<PendingRow>>;
        fn message(&self, owner: Owner, message: MessageId) -> ReadFuture<Option<MessagePosition>>;
        fn history(&self, owner: Owner, first: u64, limit: usize) -> ReadFuture<HistoryPage>;
        fn step(&self, task: TaskId, key: &str) -> ReadFuture<Option<StepState>>;
        fn questions(&self, task: TaskId) -> ReadFuture<Vec<Question>>;
        fn timers(&self, task: TaskId) -> ReadFuture<Vec<Timer>>;
        fn counter(&self, counter: &Counter) -> ReadFuture<u64>;
        fn cursor(&self) -> Cursor;
        fn notifier(&self, session: SessionId) -> Arc<Notify>;
        fn put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob>;
        fn blob(&self, blob: Blob) -> ReadFuture<Option<Arc<str>>>;
        fn delete_blob(&self, blob: Blob) -> ReadFuture<()>;
        fn expire(&self, now: Stamp, limit: usize) -> ReadFuture<usize>;
        fn remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize>;
        fn set_retention(&self, retention: Retention) -> ();
        fn close(&self, patience: Duration) -> ReadFuture<()>;
        fn events(
            &self,
            session: Option<SessionId>,
            after: Cursor,
            limit: usize
        ) -> ReadFuture<Result<EventPage, CursorExpired>>;
    }
}

struct InMemory(Memory);

impl Fixture for InMemory {
    fn open(&self) -> ReadFuture<Arc<dyn Store>> {
        ReadFuture::ready(Ok(Arc::new(Behind::new(self.0.clone()))))
    }
}

offshoot_store::conformance!(InMemory(Memory::new()));
