//! The store of the simulation: slow, unreliable, and watched.
//!
//! The memory store inside is the disk, which survives a crash. Around it, every commit and
//! read waits for a random time before it takes effect and again before it is answered, so that
//! other steps of the runtime come in between. Some commits and reads fail.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use offshoot_core::{
    Blob, Cursor, MessageId, Name, Owner, Question, Retention, SessionId, SessionRecord, Space,
    Stamp, StepState, Task, TaskCounts, TaskId, Timer, WorkerId,
};
use offshoot_store::{
    Batch, CommitError, CommitFuture, Counter, CursorExpired, EventPage, HistoryPage, Memory,
    MessagePosition, Page, PageCursor, PendingRow, ReadFuture, Store, StoreClaim, StoreError,
    TaskQuery, Write,
};
use tokio::sync::{Notify, oneshot};

use crate::executor::Sim;
use crate::model::SharedModel;
use crate::model::invariants::retention::{DeletionCause, Thoroughness};
use crate::rng::Rng;
use crate::scenario::FaultRates;

/// The store of the simulation. Clones are the same store.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    memory: Memory,
    sim: Sim,
    model: SharedModel,
    odds: parking_lot::Mutex<FaultRates>,
    crashed: AtomicBool,
    worker: OnceLock<WorkerId>,
}

/// The fault of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Before,
    After,
    Lost,
    CrashBefore,
    CrashAfter,
}

struct Luck {
    prompt: bool,
    before: usize,
    after: usize,
    fault: Fault,
}

impl SimulatedDisk {
    /// The disk `memory` in the world `sim`, watched by `model`.
    pub fn new(memory: Memory, sim: Sim, model: SharedModel, odds: FaultRates) -> Self {
        let odds = parking_lot::Mutex::new(odds);
        let crashed = AtomicBool::new(false);
        Self(Arc::new(Inner { memory, sim, model, odds, crashed, worker: OnceLock::new() }))
    }

    /// The world of the store.
    pub fn sim(&self) -> &Sim {
        &self.0.sim
    }

    /// The model that watches the store.
    pub fn model(&self) -> &SharedModel {
        &self.0.model
    }

    /// The worker that holds the store, once there is one.
    pub fn worker(&self) -> Option<WorkerId> {
        self.0.worker.get().copied()
    }

    /// The current odds.
    pub fn odds(&self) -> FaultRates {
        *self.0.odds.lock()
    }

    /// Changes the odds from now on.
    pub fn set_odds(&self, odds: FaultRates) {
        *self.0.odds.lock() = odds;
    }

    /// Whether the process has died.
    pub fn has_crashed(&self) -> bool {
        self.0.crashed.load(Ordering::Relaxed)
    }

    fn luck(&self) -> (Luck, bool) {
        let odds = self.odds();
        self.0.sim.draw(|rng| (Luck::of_commit(&odds, rng), rng.happens(odds.unread)))
    }

    fn read<T: Send + Unpin + 'static>(
        &self,
        read: impl FnOnce(&Memory) -> ReadFuture<T> + Send + 'static,
    ) -> ReadFuture<T> {
        let (luck, fails) = self.luck();
        if fails {
            self.0.model.lock().figures.faults += 1;
        }
        let failed = || Err(StoreError::NotRead("injected".into()));
        if luck.prompt {
            return if fails { ReadFuture::ready(failed()) } else { read(&self.0.memory) };
        }
        let (reply, answer) = oneshot::channel();
        let disk = self.clone();
        self.0.sim.go(async move {
            disk.0.sim.pause(luck.before).await;
            let found = if fails { failed() } else { read(&disk.0.memory).await };
            disk.0.sim.pause(luck.after).await;
            // The receiver may be gone.
            drop(reply.send(found));
        });
        ReadFuture::later(answer)
    }

    fn write(&self, batch: Batch) -> Result<Cursor, CommitError> {
        let seen = batch.clone();
        // The memory store answers at once.
        let answer = self.0.memory.commit(batch).try_now();
        let answer = answer.unwrap_or(Err(CommitError::Store(StoreError::Closed)));
        let mut model = self.0.model.lock();
        match &answer {
            Ok(_) => {
                model.committed(&seen, self.worker());
                if seen.writes.iter().any(may_forget) {
                    model.may_have_gone(&self.0.memory, DeletionCause::Commit);
                }
            }
            Err(CommitError::Conflict(conflict)) => model.conflicted(&seen, conflict),
            Err(CommitError::Store(_)) => {}
        }
        answer
    }

    fn note(&self, fault: Fault) {
        if fault != Fault::None {
            let mut model = self.0.model.lock();
            model.trace.note(|| format!("fault {fault:?}"));
            model.figures.faults += 1;
        }
    }

    fn remove_some(&self, session: SessionId, limit: usize) -> Result<usize, StoreError> {
        // The memory store answers at once.
        let deleted = self.0.memory.remove(session, limit).try_now();
        let deleted = deleted.unwrap_or(Err(StoreError::Closed));
        self.0.model.lock().removed(&self.0.memory, session, deleted.as_ref().map_or(0, |n| *n));
        deleted
    }

    fn fail_removal(
        &self,
        fault: Fault,
        session: SessionId,
        limit: usize,
    ) -> Option<Result<usize, StoreError>> {
        self.note(fault);
        match fault {
            Fault::None => return Some(self.remove_some(session, limit)),
            Fault::Before => return Some(Err(StoreError::NotWritten("injected".into()))),
            Fault::After => {
                drop(self.remove_some(session, limit));
                return Some(Err(StoreError::Unknown("injected".into())));
            }
            Fault::Lost => drop(self.remove_some(session, limit)),
            Fault::CrashBefore => self.0.crashed.store(true, Ordering::Relaxed),
            Fault::CrashAfter => {
                drop(self.remove_some(session, limit));
                self.0.crashed.store(true, Ordering::Relaxed);
            }
        }
        None
    }

    fn fail(&self, fault: Fault, batch: Batch) -> Option<Result<Cursor, CommitError>> {
        self.note(fault);
        let unknown = || Err(CommitError::Store(StoreError::Unknown("injected".into())));
        match fault {
            Fault::None => Some(self.write(batch)),
            Fault::Before => {
                Some(Err(CommitError::Store(StoreError::NotWritten("injected".into()))))
            }
            Fault::After => {
                drop(self.write(batch));
                Some(unknown())
            }
            Fault::Lost => {
                drop(self.write(batch));
                None
            }
            Fault::CrashBefore => {
                self.0.crashed.store(true, Ordering::Relaxed);
                None
            }
            Fault::CrashAfter => {
                drop(self.write(batch));
                self.0.crashed.store(true, Ordering::Relaxed);
                None
            }
        }
    }
}

/// Whether the store may forget something in the commit of this write.
fn may_forget(write: &Write) -> bool {
    matches!(write, Write::Ack(_) | Write::End(_))
}

impl Luck {
    fn of_commit(odds: &FaultRates, rng: &mut Rng) -> Self {
        let roll = (rng.bits() % 1_000) as u32;
        let mut sum = 0;
        let mut within = |part: u32| {
            sum += part;
            roll < sum
        };
        let fault = if within(odds.before) {
            Fault::Before
        } else if within(odds.after) {
            Fault::After
        } else if within(odds.lost) {
            Fault::Lost
        } else if within(odds.crash) {
            if rng.happens(500) { Fault::CrashBefore } else { Fault::CrashAfter }
        } else {
            Fault::None
        };
        Self {
            prompt: rng.happens(odds.prompt),
            before: rng.below(odds.pause + 1),
            after: rng.below(odds.pause + 1),
            fault,
        }
    }
}

impl Store for SimulatedDisk {
    fn commit(&self, batch: Batch) -> CommitFuture {
        let (luck, _) = self.luck();
        if luck.prompt && luck.fault == Fault::None {
            return CommitFuture::ready(self.write(batch));
        }
        let (reply, answer) = oneshot::channel();
        let disk = self.clone();
        self.0.sim.go(async move {
            disk.0.sim.pause(luck.before).await;
            let done = disk.fail(luck.fault, batch);
            disk.0.sim.pause(luck.after).await;
            if let Some(done) = done {
                // The receiver may be gone.
                drop(reply.send(done));
            }
        });
        CommitFuture::later(answer)
    }

    fn claim(&self, worker: WorkerId) -> Result<StoreClaim, StoreError> {
        let tenure = self.0.memory.claim(worker)?;
        // A runtime claims its store once.
        self.0.worker.get_or_init(|| worker);
        self.0.model.lock().worker = Some(worker);
        Ok(tenure)
    }

    fn session(&self, id: SessionId) -> ReadFuture<Option<SessionRecord>> {
        self.read(move |memory| memory.session(id))
    }

    fn session_named(&self, space: &Space, name: &Name) -> ReadFuture<Option<SessionRecord>> {
        let (space, name) = (space.clone(), name.clone());
        self.read(move |memory| memory.session_named(&space, &name))
    }

    fn sessions(&self, after: Option<PageCursor>, limit: usize) -> ReadFuture<Page<SessionRecord>> {
        self.read(move |memory| memory.sessions(after, limit))
    }

    fn task(&self, id: TaskId) -> ReadFuture<Option<Task>> {
        self.read(move |memory| memory.task(id))
    }

    fn named(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        let key = key.to_owned();
        self.read(move |memory| memory.named(owner, &key))
    }

    fn keyed(&self, owner: Owner, key: &str) -> ReadFuture<Option<Task>> {
        let key = key.to_owned();
        self.read(move |memory| memory.keyed(owner, &key))
    }

    fn tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>> {
        self.read(move |memory| memory.tasks(query))
    }

    fn counts(&self, owner: Owner) -> ReadFuture<TaskCounts> {
        self.read(move |memory| memory.counts(owner))
    }

    fn counts_within(&self, session: Option<SessionId>) -> ReadFuture<TaskCounts> {
        self.read(move |memory| memory.counts_within(session))
    }

    fn inbox(&self, owner: Owner, after: u64, limit: usize) -> ReadFuture<Vec<PendingRow>> {
        self.read(move |memory| memory.inbox(owner, after, limit))
    }

    fn unread(&self, owner: Owner, limit: usize) -> ReadFuture<usize> {
        self.read(move |memory| memory.unread(owner, limit))
    }

    fn result_row(&self, task: TaskId) -> ReadFuture<Option<PendingRow>> {
        self.read(move |memory| memory.result_row(task))
    }

    fn message(&self, owner: Owner, message: MessageId) -> ReadFuture<Option<MessagePosition>> {
        self.read(move |memory| memory.message(owner, message))
    }

    fn history(&self, owner: Owner, first: u64, limit: usize) -> ReadFuture<HistoryPage> {
        self.read(move |memory| memory.history(owner, first, limit))
    }

    fn step(&self, task: TaskId, key: &str) -> ReadFuture<Option<StepState>> {
        let key = key.to_owned();
        self.read(move |memory| memory.step(task, &key))
    }

    fn questions(&self, task: TaskId) -> ReadFuture<Vec<Question>> {
        self.read(move |memory| memory.questions(task))
    }

    fn timers(&self, task: TaskId) -> ReadFuture<Vec<Timer>> {
        self.read(move |memory| memory.timers(task))
    }

    fn counter(&self, counter: &Counter) -> ReadFuture<u64> {
        let counter = counter.clone();
        self.read(move |memory| memory.counter(&counter))
    }

    fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> ReadFuture<Result<EventPage, CursorExpired>> {
        self.read(move |memory| memory.events(session, after, limit))
    }

    fn cursor(&self) -> Cursor {
        self.0.memory.cursor()
    }

    fn notifier(&self, session: SessionId) -> Arc<Notify> {
        self.0.memory.notifier(session)
    }

    fn put_blob(&self, task: TaskId, json: Arc<str>) -> ReadFuture<Blob> {
        self.read(move |memory| memory.put_blob(task, json))
    }

    fn blob(&self, blob: Blob) -> ReadFuture<Option<Arc<str>>> {
        self.read(move |memory| memory.blob(blob))
    }

    fn delete_blob(&self, blob: Blob) -> ReadFuture<()> {
        self.read(move |memory| memory.delete_blob(blob))
    }

    fn expire(&self, now: Stamp, limit: usize) -> ReadFuture<usize> {
        let disk = self.clone();
        self.read(move |memory| {
            let deleted = memory.expire(now, limit).try_now();
            let deleted = deleted.unwrap_or(Err(StoreError::Closed));
            let thoroughness = match deleted {
                Ok(0) => Thoroughness::All,
                _ => Thoroughness::Some,
            };
            let mut model = disk.0.model.lock();
            model.trace.note(|| format!("expiry at {now}: {deleted:?} of up to {limit}"));
            model.may_have_gone(memory, DeletionCause::Expiry(now, thoroughness));
            ReadFuture::ready(deleted)
        })
    }

    fn remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        // A few at a time, so that many steps come in between.
        let limit = self.0.sim.draw(|rng| rng.between(1, 5)).min(limit);
        let (reply, answer) = oneshot::channel();
        let (disk, (luck, _)) = (self.clone(), self.luck());
        self.0.sim.go(async move {
            disk.0.sim.pause(luck.before).await;
            let done = disk.fail_removal(luck.fault, session, limit);
            disk.0.sim.pause(luck.after).await;
            if let Some(done) = done {
                // The receiver may be gone.
                drop(reply.send(done));
            }
        });
        ReadFuture::later(answer)
    }

    fn set_retention(&self, retention: Retention) {
        self.0.memory.set_retention(retention);
    }

    fn close(&self, patience: Duration) -> ReadFuture<()> {
        self.0.memory.close(patience)
    }
}
