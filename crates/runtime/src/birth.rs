//! From a spawn to a task that runs or queues.
//!
//! The task's cell is entered before its record is committed, so that whoever
//! sees the record can reach the body: there is no moment at which a cancel
//! finds the one and misses the other. A commit that does not answer at once
//! is awaited by the runtime, not by the caller, whose future may be dropped.

use std::sync::Arc;

use offshoot_core::{
    Canceller, Intent, Lane, Message, MessageId, Naming, Owner, Row, Spec, Stamp, Task, decide,
};
use offshoot_store::{
    Batch, Commit, CommitError, Conflict, Spawn as SpawnWrite, StoreError, Write,
};
use tokio::sync::oneshot;

use crate::body::Body;
use crate::cell::Cell;
use crate::context::Context;
use crate::drive::Drive;
use crate::engine::{Engine, is_uncertain, seat};
use crate::error::Error;
use crate::slots::Slot;
use crate::spawn::{Said, Spawn};
use crate::task_ref::TaskRef;

/// How often an unknown commit is looked up before the caller is told that it
/// failed; looking goes on.
const LOOK_UPS: u32 = 6;

/// A task between its spawn and its first poll.
pub(crate) struct Birth<B> {
    engine: Arc<Engine>,
    said: Said,
    body: B,
    task: Task,
    cell: Arc<Cell>,
    slot: Option<Slot>,
}

/// Whether a spawn was answered at once.
pub(crate) enum Born {
    Now(Result<TaskRef, Error>),
    Later(oneshot::Receiver<Result<TaskRef, Error>>),
}

impl<B: Body> Birth<B> {
    pub(crate) fn begin(spawn: Spawn<B>) -> Born {
        let Spawn { engine, body, mut said } = spawn;
        let now = engine.now();
        let task = match said.draft(&engine, now) {
            Ok(task) => task,
            Err(error) => return Born::Now(Err(error)),
        };
        let large = task.spec.input.bytes() > engine.config.sizes.inline as u64;
        let mut birth = Self::new(engine, said, body, task, now);
        if large {
            return birth.later(None);
        }
        let commit = birth.commit(now);
        match commit.try_now() {
            Ok(Ok(_)) => Born::Now(Ok(birth.start())),
            // What needs another look goes on without the caller.
            Ok(Err(error)) => match birth.refusal(&error) {
                Some(refused) => {
                    birth.undo();
                    Born::Now(Err(refused))
                }
                None => birth.later(Some(Commit::ready(Err(error)))),
            },
            Err(pending) => birth.later(Some(pending)),
        }
    }

    fn new(engine: Arc<Engine>, said: Said, body: B, task: Task, now: Stamp) -> Self {
        let cell = Arc::new(Cell::new(task.spec.clone()));
        engine.enter(&cell);
        let slot = engine.slots.take(seat(&task.spec));
        let mut birth = Self { engine, said, body, task, cell, slot };
        birth.start_record(now);
        birth
    }

    /// A task that has its slot is spawned running: one commit, not two.
    fn start_record(&mut self, now: Stamp) {
        if self.slot.is_some()
            && let Ok(started) = decide(&self.task, Intent::Start(self.engine.worker), now)
        {
            self.cell.set_epoch(started.task.lease.epoch);
            self.task = started.task;
        }
    }

    fn commit(&mut self, now: Stamp) -> Commit {
        let spawn = SpawnWrite { task: self.task.clone(), caps: self.engine.config.caps.clone() };
        let mut batch = Batch::new(now).write(Write::Spawn(Box::new(spawn)));
        let id = self.task.id();
        if let Some(old) = self.said.continues {
            batch = batch.write(Write::Adopt { from: Owner::Task(old), to: Owner::Task(id) });
        }
        if let Some((text, mode)) = &self.said.first {
            let message = Message {
                id: MessageId::mint(now, self.engine.world.random()),
                from: self.said.sender.viewer.caller,
                text: text.clone(),
                mode: *mode,
                key: None,
                at: now,
            };
            batch = batch.write(Write::Deliver(Row::message(Arc::new(message), id)));
        }
        self.engine.store.commit(batch)
    }

    /// The error to tell, unless deciding again may help.
    fn refusal(&self, error: &CommitError) -> Option<Error> {
        match error {
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

    /// Goes on in a task of the runtime's own.
    fn later(mut self, commit: Option<Commit>) -> Born {
        let (tell, told) = oneshot::channel();
        let world = self.engine.world.clone();
        world.spawn(async move {
            let mut commit = commit;
            if let Err(error) = self.keep_large_input().await {
                self.undo();
                return drop(tell.send(Err(error)));
            }
            loop {
                let now = self.engine.now();
                let pending = match commit.take() {
                    Some(commit) => commit,
                    None => self.commit(now),
                };
                let error = match pending.await {
                    Ok(_) => return drop(tell.send(Ok(self.start()))),
                    Err(error) => error,
                };
                if let Some(refused) = self.refusal(&error) {
                    self.undo();
                    return drop(tell.send(Err(refused)));
                }
                match error {
                    CommitError::Conflict(Conflict::KeyUsed(_)) => {
                        let found = self.found_by_key().await;
                        self.undo();
                        return drop(tell.send(found));
                    }
                    CommitError::Conflict(_) => self.rename(),
                    CommitError::Store(error) => return self.look_up(error, tell).await,
                }
            }
        });
        Born::Later(told)
    }

    async fn keep_large_input(&mut self) -> Result<(), Error> {
        let spec = &self.task.spec;
        if spec.input.bytes() <= self.engine.config.sizes.inline as u64 {
            return Ok(());
        }
        let json = spec.input.as_json()?.into();
        let blob = self.engine.store.put_blob(spec.id, json).await?;
        let input = offshoot_core::Payload::Blob(blob);
        self.replace_spec(Spec { input, ..(**spec).clone() });
        Ok(())
    }

    fn rename(&mut self) {
        let handle = self.said.next_handle();
        self.replace_spec(Spec { handle, ..(*self.task.spec).clone() });
    }

    fn replace_spec(&mut self, spec: Spec) {
        self.task.spec = Arc::new(spec);
        let cell = Arc::new(Cell::new(self.task.spec.clone()));
        cell.set_epoch(self.cell.epoch());
        self.cell = cell;
        self.engine.enter(&self.cell);
    }

    /// The task an earlier spawn with the same key made, if it asked the same.
    async fn found_by_key(&mut self) -> Result<TaskRef, Error> {
        let (owner, spec) = (self.task.owner(), &self.task.spec);
        let key = spec.key.clone().unwrap_or_default();
        let found = self.engine.store.keyed(owner, &key).await?;
        let found = found.ok_or(Error::Contended)?;
        if !found.spec.asks_the_same(spec) {
            return Err(Error::KeyReused { key, task: found.id() });
        }
        Ok(TaskRef::new(self.engine.clone(), found.spec, self.said.sender.viewer.clone()))
    }

    /// Finds out whether a commit without an answer happened. If that takes
    /// too long the caller is told that it failed, and the task, should it
    /// turn up, is ended unstarted.
    async fn look_up(self, error: StoreError, tell: oneshot::Sender<Result<TaskRef, Error>>) {
        let mut tell = Some(tell);
        for tries in 0.. {
            if self.engine.is_closed() {
                break;
            }
            match self.engine.store.task(self.task.id()).await {
                Ok(Some(_)) => match tell.take() {
                    Some(tell) => return drop(tell.send(Ok(self.start()))),
                    None => {
                        let (engine, id) = (self.engine.clone(), self.task.id());
                        return engine.disown(id, Canceller::Unacknowledged).await;
                    }
                },
                Ok(None) => break,
                Err(_) if tries >= LOOK_UPS => {
                    if let Some(tell) = tell.take() {
                        drop(tell.send(Err(error.clone().into())));
                    }
                }
                Err(_) => {}
            }
            self.engine.back_off(tries).await;
        }
        self.undo();
        if let Some(tell) = tell {
            drop(tell.send(Err(error.into())));
        }
    }

    /// Starts or queues the body of a task whose record is durable.
    fn start(self) -> TaskRef {
        let Self { engine, said, body, task, cell, slot } = self;
        let found = TaskRef::new(engine.clone(), task.spec.clone(), said.sender.viewer);
        match slot {
            Some(slot) => launch(&engine, cell, body, slot),
            None => queue(&engine, cell, body),
        }
        found
    }

    fn undo(&self) {
        self.engine.leave(self.task.id());
    }
}

/// Has the body of a durable task that has its slot polled.
pub(crate) fn launch<B: Body>(engine: &Arc<Engine>, cell: Arc<Cell>, body: B, slot: Slot) {
    if engine.config.caps.executing.is_none() {
        drop(slot);
    } else {
        *cell.slot.lock() = Some(Box::new(slot));
    }
    if let Some(timeout) = cell.spec.timeout {
        engine.expire_after(&cell, timeout);
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
    /// Starts a queued task that has its slot, unless it has ended meanwhile.
    async fn start_queued<B: Body>(self: Arc<Self>, cell: Arc<Cell>, body: B, slot: Slot) {
        let id = cell.spec.id;
        let mut tries = 0;
        loop {
            let started =
                self.change(id, |_, _| Ok(Intent::Start(self.worker)), |_, batch| batch).await;
            match started {
                Ok(task) => {
                    cell.set_epoch(task.lease.epoch);
                    return launch(&self, cell, body, slot);
                }
                Err(Error::Store(_) | Error::Contended) if !self.is_closed() => {
                    // The start may have been written by a try that said it
                    // was not: then the record has this worker's lease.
                    if let Ok(Some(task)) = self.store.task(id).await
                        && task.lease.worker == Some(self.worker)
                    {
                        cell.set_epoch(task.lease.epoch);
                        return launch(&self, cell, body, slot);
                    }
                    self.back_off(tries).await;
                    tries += 1;
                }
                // Ended while it was queued: there is nothing to start.
                Err(_) => return,
            }
        }
    }
}
