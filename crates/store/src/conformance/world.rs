//! The world of a case: a store, a clock, ids, and helpers for records.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use offshoot_core::{
    Caps, Change, Cursor, DeliveryMode, Event, InboxMessage, Intent, LiveChildren, MessageId, Name,
    Outcome, Owner, Payload, RunId, SessionId, SessionRecord, Space, Spec, Stamp, Task, TaskId,
    Tie, WorkerId, decide,
};

use super::fixture::Fixture;
use super::snapshot::StoreSnapshot;
use crate::batch::{Ack, Batch, EndWrite, Guard, SpawnWrite, Strictness, Write};
use crate::error::{CommitError, Conflict};
use crate::query::{PendingRow, TaskQuery, TaskScope};
use crate::store::Store;

/// Creates a fixture without data.
pub(super) type MakeFixture = Arc<dyn Fn() -> Arc<dyn Fixture>>;

/// A store, a clock and a source of ids that are the same in every run.
pub struct StoreWorld {
    make: MakeFixture,
    fixture: Arc<dyn Fixture>,
    store: RefCell<Option<Arc<dyn Store>>>,
    millis: Cell<i64>,
    minted: Cell<u64>,
    messages: RefCell<Vec<(TaskId, MessageId)>>,
    /// The worker that starts tasks.
    pub worker: WorkerId,
}

impl StoreWorld {
    /// A world on a new fixture, with its store open.
    pub async fn new(make: Arc<dyn Fn() -> Arc<dyn Fixture>>) -> Self {
        let fixture = make();
        let store = fixture.open().await.unwrap();
        Self {
            make,
            fixture,
            store: RefCell::new(Some(store)),
            millis: Cell::new(1_700_000_000_000),
            minted: Cell::new(0),
            messages: RefCell::default(),
            worker: WorkerId::mint(Stamp::from_millis(1), 1),
        }
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.borrow().clone().expect("the store is open")
    }

    /// Another world with its own data, clock and ids.
    pub async fn another(&self) -> Self {
        Self::new(self.make.clone()).await
    }

    /// Wraps the store until it is reopened.
    pub fn wrap(&self, wrapped: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) {
        let store = self.store.replace(None).expect("the store is open");
        self.store.replace(Some(wrapped(store)));
    }

    /// The fixture that opens the store.
    pub fn fixture(&self) -> &dyn Fixture {
        &*self.fixture
    }

    /// Drops the store as a crash would, and reopens it.
    pub async fn reopen(&self) {
        self.store.replace(None);
        let store = self.fixture.open().await.unwrap();
        self.store.replace(Some(store));
    }

    /// The next moment, one millisecond after the previous one.
    pub fn now(&self) -> Stamp {
        self.millis.set(self.millis.get() + 1);
        Stamp::from_millis(self.millis.get())
    }

    /// Advances the clock.
    pub fn pass(&self, span: std::time::Duration) {
        self.millis.set(self.millis.get() + i64::try_from(span.as_millis()).unwrap());
    }

    /// Random bits for an id. They differ in each call and are the same in every run.
    pub fn bits(&self) -> u128 {
        let next = self.minted.get() + 1;
        self.minted.set(next);
        u128::from(next).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }

    /// A new task id.
    pub fn task_id(&self) -> TaskId {
        TaskId::mint(self.now(), self.bits())
    }

    /// A new run id.
    pub fn run_id(&self) -> RunId {
        RunId::mint(self.now(), self.bits())
    }

    /// The record of a session that is not stored yet.
    pub fn new_session(&self, name: &str) -> SessionRecord {
        let (at, bits) = (self.now(), self.bits());
        let name = Name::new(name).unwrap();
        SessionRecord::new(SessionId::mint(at, bits), Space::default(), name, at)
    }

    /// The spec of a task that `session` owns, with a unique handle.
    pub fn spec(&self, session: &SessionRecord) -> Spec {
        let mut spec = offshoot_core::doc::spec("task");
        spec.id = self.task_id();
        spec.lineage.session = session.id;
        spec.lineage.root = spec.id;
        spec.handle = Name::numbered("task", self.minted.get());
        spec.spawned_at = self.now();
        spec
    }

    /// The spec of a task that `parent` owns.
    pub fn child_spec(&self, parent: &Task) -> Spec {
        let lineage = &parent.spec.lineage;
        let mut spec = offshoot_core::doc::spec("task");
        spec.id = self.task_id();
        spec.lineage = lineage.clone();
        spec.lineage.parent = Some(parent.id());
        spec.lineage.depth = lineage.depth + 1;
        spec.handle = Name::numbered("task", self.minted.get());
        spec.spawned_at = self.now();
        spec
    }

    /// A message from `from` that is not sent yet. Messages with the same key have the same
    /// text.
    pub fn message(&self, from: offshoot_core::Caller, key: Option<&str>) -> Arc<InboxMessage> {
        let at = self.now();
        let id = MessageId::mint(at, self.bits());
        let text = match key {
            Some(key) => format!("message of {key}").into(),
            None => format!("message {}", self.minted.get()).into(),
        };
        Arc::new(InboxMessage {
            id,
            from,
            text,
            mode: DeliveryMode::Steer,
            key: key.map(Into::into),
            at,
        })
    }

    /// The write that sends `message` to `task`, with room for 100 messages.
    pub fn send(&self, message: &Arc<InboxMessage>, task: TaskId) -> Write {
        self.messages.borrow_mut().push((task, message.id));
        Write::Send { message: message.clone(), to: Owner::Task(task), room: 100 }
    }

    /// An empty batch, decided now.
    pub fn batch(&self) -> Batch {
        Batch::new(self.now())
    }

    /// Commits a batch.
    pub async fn commit(&self, batch: Batch) -> Result<Cursor, CommitError> {
        self.store().commit(batch).await
    }

    /// Commits one write, which must succeed.
    pub async fn write(&self, write: Write) -> Cursor {
        self.commit(self.batch().write(write)).await.unwrap()
    }

    /// Commits a batch that must be refused, checks that it changed nothing, and returns
    /// the conflict.
    pub async fn refused(&self, batch: Batch) -> Conflict {
        let before = self.snapshot().await;
        let cursor = self.store().cursor();
        let conflict = match self.commit(batch).await {
            Err(CommitError::Conflict(conflict)) => conflict,
            other => panic!("expected a conflict, got {other:?}"),
        };
        assert_eq!(self.snapshot().await, before, "a refused batch left something");
        assert_eq!(self.store().cursor(), cursor, "a refused batch moved the log");
        conflict
    }

    /// [`Self::refused`] for a single write.
    pub async fn refused_write(&self, write: Write) -> Conflict {
        self.refused(self.batch().write(write)).await
    }

    /// Opens a session.
    pub async fn session(&self, name: &str) -> SessionRecord {
        let session = self.new_session(name);
        self.write(Write::OpenSession(Box::new(session.clone()))).await;
        session
    }

    /// Spawns a queued task from a spec.
    pub async fn spawn(&self, spec: Spec) -> Task {
        let task = Task::new(Arc::new(spec));
        self.write(spawn(&task)).await;
        task
    }

    /// Spawns and starts a task that `session` owns.
    pub async fn running(&self, session: &SessionRecord) -> Task {
        let task = self.spawn(self.spec(session)).await;
        self.put(&task, Intent::Start(self.worker)).await
    }

    /// Spawns and starts a task that `parent` owns.
    pub async fn running_child(&self, parent: &Task) -> Task {
        let task = self.spawn(self.child_spec(parent)).await;
        self.put(&task, Intent::Start(self.worker)).await
    }

    /// The next record and its write.
    pub fn decide(&self, task: &Task, intent: Intent) -> (Task, Write) {
        let decision = decide(task, intent, self.now()).unwrap();
        (decision.task.clone(), Write::Put(decision.task, decision.change))
    }

    /// Commits the next record.
    pub async fn put(&self, task: &Task, intent: Intent) -> Task {
        let (task, write) = self.decide(task, intent);
        self.write(write).await;
        task
    }

    /// The batch that ends a body without live children, and the resulting record.
    pub fn settling(&self, task: &Task) -> (Task, Batch) {
        let (ended, end) = self.end(task, Intent::Finish(value(), LiveChildren::None));
        let batch = self.batch().fenced(task.id(), task.lease.epoch);
        (ended, batch.guard(Guard::Childless(task.id())).write(end))
    }

    /// The last record of a task and its write with the result row.
    pub fn end(&self, task: &Task, intent: Intent) -> (Task, Write) {
        let decision = decide(task, intent, self.now()).unwrap();
        let ended = decision.task.clone();
        let end =
            EndWrite { task: decision.task, change: decision.change, recipient: task.owner() };
        (ended, Write::End(end))
    }

    /// Ends a running task without live children and delivers its row to the owner.
    pub async fn settle(&self, task: &Task) -> Task {
        let (ended, batch) = self.settling(task);
        self.commit(batch).await.unwrap();
        ended
    }

    /// All rows of an inbox.
    pub async fn inbox(&self, owner: Owner) -> Vec<PendingRow> {
        self.store().inbox(owner, 0, usize::MAX >> 1).await.unwrap()
    }

    /// Reads and acknowledges all rows of an inbox.
    pub async fn drain(&self, owner: Owner) -> Vec<PendingRow> {
        let rows = self.inbox(owner).await;
        self.write(ack(owner, &rows, Strictness::MustBePending)).await;
        rows
    }

    /// The stored record of a task.
    pub async fn task(&self, id: TaskId) -> Option<Task> {
        self.store().task(id).await.unwrap()
    }

    /// All tasks that match a query.
    pub async fn list(&self, mut query: TaskQuery) -> Vec<Task> {
        let mut found = Vec::new();
        loop {
            let page = self.store().tasks(query.clone()).await.unwrap();
            assert!(page.items.len() <= query.limit, "a page holds more than was asked for");
            found.extend(page.items);
            assert!(page.next.is_none() || page.next != query.after, "the list does not go on");
            match page.next {
                Some(next) => query.after = Some(next),
                None => return found,
            }
        }
    }

    /// All tasks within `within`, oldest first.
    pub async fn tasks(&self, within: TaskScope) -> Vec<Task> {
        self.list(TaskQuery::new(within)).await
    }

    /// The events after a cursor, of one session or of all.
    pub async fn events(&self, session: Option<SessionId>, after: Cursor) -> Vec<Event> {
        let (mut found, mut after) = (Vec::new(), after);
        loop {
            let page = self.store().events(session, after, 7).await.unwrap().unwrap();
            if page.events.is_empty() {
                return found;
            }
            assert!(page.next > after, "the log does not go on");
            after = page.next;
            found.extend(page.events);
        }
    }

    /// The changes in a session's log after a cursor.
    pub async fn changes(&self, session: &SessionRecord, after: Cursor) -> Vec<Change> {
        let events = self.events(Some(session.id), after).await;
        events.into_iter().map(|event| event.change).collect()
    }

    /// Deletes everything whose retention has ended at `now`, and returns the number of
    /// items.
    pub async fn expire(&self, now: Stamp) -> usize {
        let mut deleted = 0;
        loop {
            match self.store().expire(now, 10).await.unwrap() {
                0 => return deleted,
                some => deleted += some,
            }
        }
    }

    /// A snapshot of the store.
    pub async fn snapshot(&self) -> StoreSnapshot {
        let messages = self.messages.borrow().clone();
        StoreSnapshot::take(&*self.store(), &messages).await.unwrap()
    }
}

/// The spawn of a task with the default caps.
pub(super) fn spawn(task: &Task) -> Write {
    spawn_under(task, Caps::default())
}

/// The spawn of a task with `caps`.
pub(super) fn spawn_under(task: &Task, caps: Caps) -> Write {
    Write::Spawn(SpawnWrite { task: task.clone(), caps: Arc::new(caps) })
}

/// The record of a queued task that is not stored yet.
pub(super) fn record(spec: Spec) -> Task {
    Task::new(Arc::new(spec))
}

/// The record of a running task that is not stored yet.
pub(super) fn started(world: &StoreWorld, spec: Spec) -> Task {
    offshoot_core::spawn(Arc::new(spec), Some(world.worker), world.now())
}

/// Detaches a spec from its parent.
pub(super) fn detached(mut spec: Spec) -> Spec {
    spec.tie = Tie::Detached;
    spec
}

/// Sets the handle of a spec.
pub(super) fn called(mut spec: Spec, name: &str) -> Spec {
    spec.handle = Name::new(name).unwrap();
    spec.naming = offshoot_core::Naming::Given;
    spec
}

/// Sets the key of a spec.
pub(super) fn keyed(mut spec: Spec, key: &str) -> Spec {
    spec.terms.key = Some(key.into());
    spec
}

/// An outcome with a value.
pub(super) fn value() -> Outcome {
    Outcome::value(Payload::encode("done").unwrap())
}

/// An acknowledgement of rows.
pub(super) fn ack(owner: Owner, rows: &[PendingRow], strictness: Strictness) -> Write {
    Write::Ack(Ack { owner, rows: rows.iter().map(PendingRow::reference).collect(), strictness })
}

/// A cancel request.
pub(super) fn cancel(at: Stamp) -> Arc<offshoot_core::Cancel> {
    Arc::new(offshoot_core::Cancel {
        by: offshoot_core::Canceller::Host,
        reason: "enough".into(),
        at,
        grace: offshoot_core::DEFAULT_GRACE,
    })
}
