//! From a spawn to a task that runs or queues.
//!
//! The task's cell is entered before its record is committed, so that whoever
//! sees the record can reach the body: there is no moment at which a cancel
//! finds the one and misses the other. A commit that does not answer at once
//! is awaited by the runtime, not by the caller, whose future may be dropped.
//!
//! A commit that never answers leaves its spawn in the air: the caller waits,
//! and name and slot stay taken. Nothing better can be said of it. To call it
//! failed might deny a durable task, to call it spawned might promise a lost
//! one. A store that closes owes an answer to all who wait, and what it wrote
//! without one is judged by the next runtime, as after a crash.

use std::sync::Arc;

use offshoot_core::{
    Canceller, Cap, CapReached, Intent, Lane, Message, Naming, Owner, Payload, Row, Spec, Stamp,
    State, Task, spawn,
};
use offshoot_store::{
    Batch, Commit, CommitError, Conflict, Count, Counter, Spawn as SpawnWrite, StoreError, Write,
};
use tokio::sync::oneshot;

use crate::body::Body;
use crate::cell::{Cell, Eviction};
use crate::context::Context;
use crate::draft::Draft;
use crate::drive::Drive;
use crate::engine::{Engine, is_uncertain, seat};
use crate::error::Error;
use crate::panic;
use crate::slots::Slot;
use crate::spawn::Spawn;
use crate::task_ref::{TaskRef, Viewer};

/// How often an unknown commit is looked up before the caller is told that it
/// failed; looking goes on.
const LOOK_UPS: u32 = 6;

type Born = Result<TaskRef, Error>;

/// A task between its draft and its first poll.
struct Embryo {
    task: Task,
    cell: Arc<Cell>,
    slot: Option<Slot>,
    viewer: Viewer,
    first: Option<Arc<Message>>,
}

/// What a spawn has come to.
pub(crate) enum Birth {
    /// It is over.
    Done(Born),
    /// It goes on without the caller.
    Later(oneshot::Receiver<Born>),
}

/// Brings a task to life, at once if the store answers at once.
pub(crate) fn bear<B: Body>(spawn: Spawn<B>) -> Birth {
    let Spawn { engine, body, said } = spawn;
    let now = engine.now();
    let draft = match said.draft(&engine, now) {
        Ok(draft) => draft,
        Err(error) => return Birth::Done(Err(error)),
    };
    let embryo = Embryo::new(&engine, draft, now);
    if embryo.task.spec.input.bytes() > engine.config.sizes.inline as u64 {
        return Birth::Later(carry_on(engine, body, embryo, None));
    }
    let pending = match embryo.commit(&engine, now).try_now() {
        Ok(Ok(_)) => return Birth::Done(Ok(embryo.start(engine, body))),
        // What needs another look goes on without the caller.
        Ok(Err(error)) => match embryo.refusal(&engine, &error) {
            Some(refused) => {
                embryo.undo(&engine);
                return Birth::Done(Err(refused));
            }
            None => Commit::ready(Err(error)),
        },
        Err(pending) => pending,
    };
    Birth::Later(carry_on(engine, body, embryo, Some(pending)))
}

/// Brings a task to life in a task of the runtime's own.
fn carry_on<B: Body>(
    engine: Arc<Engine>,
    body: B,
    mut embryo: Embryo,
    mut commit: Option<Commit>,
) -> oneshot::Receiver<Born> {
    let (tell, told) = oneshot::channel();
    engine.world.clone().spawn(async move {
        if let Err(error) = embryo.keep_large_input(&engine).await {
            embryo.undo(&engine);
            return drop(tell.send(Err(error)));
        }
        loop {
            let pending = match commit.take() {
                Some(commit) => commit,
                None => embryo.commit(&engine, engine.now()),
            };
            let error = match pending.await {
                Ok(_) => return drop(tell.send(Ok(embryo.start(engine, body)))),
                Err(error) => error,
            };
            if let Some(refused) = embryo.refusal(&engine, &error) {
                embryo.undo(&engine);
                embryo.delete_input(&engine).await;
                return drop(tell.send(Err(refused)));
            }
            match error {
                CommitError::Conflict(Conflict::KeyUsed(_)) => {
                    embryo.undo(&engine);
                    let found = engine.found_by_key(&embryo.task.spec).await;
                    embryo.delete_input(&engine).await;
                    let found = found.map(|spec| TaskRef::new(engine, spec, embryo.viewer));
                    return drop(tell.send(found));
                }
                CommitError::Conflict(_) => embryo.rename(&engine),
                CommitError::Store(error) => {
                    return embryo.look_up(engine, body, error, tell).await;
                }
            }
        }
    });
    told
}

impl Embryo {
    fn new(engine: &Engine, draft: Draft, now: Stamp) -> Self {
        let Draft { spec, viewer, desk, first } = draft;
        let spec = Arc::new(spec);
        let slot = engine.slots.take(seat(&spec));
        // A task that has its slot is spawned running: one commit, not two.
        let worker = slot.is_some().then_some(engine.worker);
        let task = spawn(spec, worker, now);
        let cell = Arc::new(Cell::born(task.clone(), desk));
        engine.enter(cell.clone());
        Self { task, cell, slot, viewer, first }
    }

    fn commit(&self, engine: &Engine, now: Stamp) -> Commit {
        let caps = engine.config.caps.clone();
        let spawn = SpawnWrite { task: self.task.clone(), caps };
        let mut batch = Batch::new(now);
        // An attempt that lost its lease sends nothing off any more. Whoever
        // writes to a finished task may use a reference from an attempt that
        // is over.
        let continues = self.task.spec.terms.continues;
        if continues.is_none() {
            batch.fence = self.viewer.cell.as_ref().and_then(|cell| cell.fence());
        }
        batch.push(Write::Spawn(spawn));
        if let Some(count) = self.count_in_tree(engine) {
            batch.push(Write::Count(count));
        }
        let id = self.task.id();
        if let Some(old) = continues {
            batch.push(Write::Adopt { from: Owner::Task(old), to: Owner::Task(id) });
        }
        if let Some(first) = &self.first {
            // A detached task's spawner is not told of its end, but of a
            // message that comes back.
            if first.from.as_owner() != Some(self.task.owner()) {
                self.cell.note_outside_mail();
            }
            let row = Row::message(first.clone(), Owner::Task(id));
            batch.push(Write::Deliver(Box::new(row)));
        }
        engine.store.commit(batch)
    }

    /// One more of its kind below its topmost task, if these are limited.
    fn count_in_tree(&self, engine: &Engine) -> Option<Count> {
        let spec = &self.task.spec;
        spec.lineage.parent?;
        let backend = engine.kinds.get(&spec.kind)?;
        let limit = panic::shield_or("most_in_a_tree", None, || backend.most_in_a_tree())?;
        let (owner, name) = (Owner::Task(spec.lineage.root), format!("below {}", spec.kind).into());
        Some(Count { counter: Counter { owner, name }, by: 1, limit: Some(limit) })
    }

    /// The error to tell, unless deciding again may help.
    fn refusal(&self, engine: &Engine, error: &CommitError) -> Option<Error> {
        match error {
            CommitError::Conflict(Conflict::Counter { value, .. }) => {
                let limit = self.count_in_tree(engine).and_then(|count| count.limit);
                let (limit, used) = (limit.unwrap_or(*value), *value);
                Some(Error::Cap(CapReached { cap: Cap::Tree, limit, used }))
            }
            CommitError::Conflict(Conflict::OwnerClosed(owner)) if self.viewer.stops(*owner) => {
                Some(Error::Cancelled)
            }
            CommitError::Conflict(Conflict::KeyUsed(_)) => None,
            CommitError::Conflict(Conflict::NameTaken(holder)) => match self.task.spec.naming {
                Naming::Given => {
                    Some(Error::NameTaken { name: self.task.handle().to_owned(), holder: *holder })
                }
                Naming::Counted => None,
            },
            error if is_uncertain(error) => None,
            error => Some(Error::from_commit(error.clone())),
        }
    }

    async fn keep_large_input(&mut self, engine: &Engine) -> Result<(), Error> {
        let spec = &self.task.spec;
        if spec.input.bytes() <= engine.config.sizes.inline as u64 {
            return Ok(());
        }
        let json = spec.input.as_json()?.into();
        let blob = engine.store.put_blob(spec.id, json).await?;
        let spec = Spec { input: blob.into(), ..(**spec).clone() };
        self.replace_spec(engine, spec);
        Ok(())
    }

    /// Deletes the large input of a task that surely never comes to be. One
    /// that may have come to be keeps it, and the store's next opening sees.
    async fn delete_input(&self, engine: &Engine) {
        if let Payload::Blob(blob) = &self.task.spec.input
            && blob.task == self.task.id()
            && let Err(error) = engine.store.delete_blob(**blob).await
        {
            tracing::debug!(task = %blob.task, %error, "the input of a refused spawn was left");
        }
    }

    /// Takes the next number: somebody has the one that was counted.
    fn rename(&mut self, engine: &Engine) {
        let spec = &self.task.spec;
        let handle = engine.desk(spec.lineage.session).count(spec.stem());
        let spec = Spec { handle, ..(**spec).clone() };
        self.replace_spec(engine, spec);
    }

    fn replace_spec(&mut self, engine: &Engine, spec: Spec) {
        let worker = self.task.lease.worker;
        self.task = spawn(Arc::new(spec), worker, self.task.since);
        let desk = engine.desk(self.task.spec.lineage.session);
        self.cell = Arc::new(Cell::born(self.task.clone(), desk));
        engine.enter(self.cell.clone());
    }

    /// Finds out whether a commit without an answer happened. If that takes
    /// too long the caller is told that it failed, and the task, should it
    /// turn up, is ended unstarted.
    async fn look_up<B: Body>(
        self,
        engine: Arc<Engine>,
        body: B,
        error: StoreError,
        tell: oneshot::Sender<Born>,
    ) {
        let mut tell = Some(tell);
        for tries in 0.. {
            if engine.is_closed() {
                break;
            }
            match engine.store.task(self.task.id()).await {
                Ok(Some(_)) => match tell.take() {
                    Some(tell) => return drop(tell.send(Ok(self.start(engine, body)))),
                    None => return engine.disown(self.task.id(), Canceller::Unacknowledged).await,
                },
                Ok(None) => break,
                Err(_) if tries >= LOOK_UPS => {
                    if let Some(tell) = tell.take() {
                        drop(tell.send(Err(error.clone().into())));
                    }
                }
                Err(_) => {}
            }
            engine.back_off(tries).await;
        }
        self.undo(&engine);
        if let Some(tell) = tell {
            drop(tell.send(Err(error.into())));
        }
    }

    /// Starts or queues the body of a task whose record is durable.
    fn start<B: Body>(self, engine: Arc<Engine>, body: B) -> TaskRef {
        let Self { task, cell, slot, viewer, .. } = self;
        match slot {
            Some(slot) => launch(&engine, cell, body, slot),
            None => queue(&engine, cell, body),
        }
        if let (Some(_), Some(parent)) = (&task.spec.terms.key, &viewer.cell) {
            engine.advance_later(parent);
        }
        TaskRef::new(engine, task.spec.clone(), viewer)
    }

    fn undo(&self, engine: &Engine) {
        engine.leave(self.task.id());
    }
}

/// Has the body of a durable task that has its slot polled.
pub(crate) fn launch<B: Body>(engine: &Arc<Engine>, cell: Arc<Cell>, body: B, slot: Slot) {
    if !engine.config.caps.executing.is_none() {
        *cell.rare().slot.lock() = Some(slot);
    }
    if engine.is_closed() {
        // It came too late to be dropped with the others.
        cell.evict(Eviction::Abandon);
    }
    if let Some(timeout) = cell.spec.terms.timeout {
        engine.expire_after(&cell, timeout);
    }
    if engine.is_draining() {
        engine.stop_late(cell.clone());
    }
    let context = Context::new(engine.clone(), cell);
    engine.world.spawn(Drive::new(context, body));
}

/// Has the body of a queued task started when it is its turn.
pub(crate) fn queue<B: Body>(engine: &Arc<Engine>, cell: Arc<Cell>, body: B) {
    let (id, seat) = (cell.spec.id, seat(&cell.spec));
    let starter = engine.clone();
    let claim = move |slot| {
        let engine = starter.clone();
        starter.world.spawn(async move { engine.start_queued(cell, body, slot).await });
    };
    engine.slots.queue(id, seat, Lane::Starting, Box::new(claim));
}

impl Engine {
    /// What an earlier spawn with the same key asked for, if it asked the
    /// same.
    async fn found_by_key(&self, spec: &Spec) -> Result<Arc<Spec>, Error> {
        let key = spec.terms.key.clone().unwrap_or_default();
        let found = self.store.keyed(spec.owner(), &key).await?;
        let found = found.ok_or(Error::Contended)?;
        if !found.spec.asks_the_same(spec) && !self.asks_at_length(&found.spec, spec).await? {
            return Err(Error::KeyReused { key, task: found.id() });
        }
        Ok(found.spec.clone())
    }

    /// Whether two requests differ only in where their large inputs are kept.
    async fn asks_at_length(&self, found: &Spec, asked: &Spec) -> Result<bool, Error> {
        let (Payload::Blob(one), Payload::Blob(other)) = (&found.input, &asked.input) else {
            return Ok(false);
        };
        let moved = Spec { input: found.input.clone(), ..asked.clone() };
        Ok(found.asks_the_same(&moved)
            && self.store.blob(**one).await? == self.store.blob(**other).await?)
    }

    /// Starts a queued task that has its slot, unless it has ended meanwhile.
    async fn start_queued<B: Body>(self: Arc<Self>, cell: Arc<Cell>, body: B, slot: Slot) {
        let id = cell.spec.id;
        for tries in 0.. {
            if self.is_closed() {
                return;
            }
            let started = self.change(
                id,
                |task, _| match task.cancel {
                    Some(_) => Err(Error::Cancelled),
                    None => Ok(Intent::Start(self.worker)),
                },
                |_, batch| batch,
            );
            let started = match started.await {
                Ok(task) => Some(task),
                // The start may have been written by a try that said it was
                // not: then the record has this worker's lease.
                Err(_) => match self.store.task(id).await {
                    Ok(Some(task)) if task.lease.worker == Some(self.worker) => Some(task),
                    Ok(Some(task)) if task.state == State::Queued => {
                        // Whoever asked it to stop may not come to end it.
                        if task.cancel.is_some() && self.end_unstarted(id).await {
                            return;
                        }
                        None
                    }
                    // Ended while it was queued: there is nothing to start, and
                    // whoever ended it may have come before its cell did.
                    Ok(last) if last.as_ref().is_none_or(|last| !last.is_live()) => {
                        return self.forget_passive(id, last.as_ref());
                    }
                    Ok(_) => return,
                    Err(_) => None,
                },
            };
            if let Some(task) = started {
                cell.set_epoch(task.lease.epoch);
                if task.crashes > 0 {
                    cell.note_crashes();
                }
                launch(&self, cell.clone(), body, slot);
                // The task may have ended, and its cell left, before the answer
                // came: nobody could reach the body any more.
                if !self.cell(id).is_some_and(|here| Arc::ptr_eq(&here, &cell)) {
                    cell.evict(Eviction::Abandon);
                }
                return;
            }
            self.back_off(tries).await;
        }
    }
}
