//! From a validated spawn to a task that runs or queues.
//!
//! The live entry is inserted before the record is committed, so a caller that
//! sees the record can reach the body. If the store does not answer at once, a
//! task of the executor awaits the commit, because the caller's future may be
//! dropped. Both ways take the same [`SpawnStep`]s.
//!
//! A commit that is never answered leaves its spawn pending: the caller waits,
//! and the name and the slot stay taken. To report a failure might deny a
//! durable task, and to report success might promise a lost one. A store that
//! closes answers all pending commits, and the next runtime recovers what was
//! written without an answer, as after a crash.

use std::sync::Arc;

use offshoot_core::{
    Cap, CapReached, Cursor, InboxMessage, Naming, Owner, Payload, Row, Spec, Stamp, Task, spawn,
};
use offshoot_store::{
    Batch, CommitError, CommitFuture, Conflict, Counter, CounterChange, SpawnWrite, StoreError,
    Write,
};
use tokio::sync::oneshot;

use super::SpawnBuilder;
use super::options::SpawnOptions;
use crate::attempt;
use crate::cancel;
use crate::engine::body::TaskBody;
use crate::engine::handle::{TaskRef, Viewer};
use crate::engine::live_task::LiveTask;
use crate::engine::slots::Slot;
use crate::engine::{Engine, seat};
use crate::error::Error;
use crate::panic;

/// How often a commit without an answer is looked up before the spawn is
/// reported as failed. The lookups go on after that.
const LOOK_UPS: u32 = 6;

type SpawnResult = Result<TaskRef, Error>;

/// A validated spawn with its live entry, before its commit.
pub(super) struct PendingSpawn {
    task: Task,
    live: Arc<LiveTask>,
    slot: Option<Slot>,
    viewer: Viewer,
    first_message: Option<Arc<InboxMessage>>,
}

/// The progress of a spawn after its first poll.
pub(super) enum SpawnProgress {
    Done(SpawnResult),
    /// It goes on in a task of the executor.
    Pending(oneshot::Receiver<SpawnResult>),
}

/// The next step of a spawn.
enum SpawnStep {
    /// Writes a large input to a blob.
    StoreInput,
    Commit,
    Await(CommitFuture),
    /// Starts or queues the body: the task is durable.
    Start,
    Refuse(Error),
    /// Looks for the task of an earlier spawn with the same key.
    FindByKey,
    /// Takes the next number: another task has this one.
    Rename,
    /// Finds out whether a commit without an answer was written.
    LookUp(StoreError),
}

/// Takes the steps of a spawn up to the first one that has to wait.
pub(super) fn begin<B: TaskBody>(spawn: SpawnBuilder<B>) -> SpawnProgress {
    let SpawnBuilder { engine, body, options } = spawn;
    let now = engine.now();
    let pending = match PendingSpawn::new(&engine, options, now) {
        Ok(pending) => pending,
        Err(error) => return SpawnProgress::Done(Err(error)),
    };
    let step = if pending.has_large_input(&engine) {
        SpawnStep::StoreInput
    } else {
        match pending.commit(&engine, now).try_now() {
            Ok(outcome) => pending.after_commit(&engine, outcome),
            Err(commit) => SpawnStep::Await(commit),
        }
    };
    match step {
        SpawnStep::Start => SpawnProgress::Done(Ok(pending.start(engine, body))),
        SpawnStep::Refuse(error) => {
            pending.undo(&engine);
            SpawnProgress::Done(Err(error))
        }
        step => {
            let (sender, receiver) = oneshot::channel();
            let runner = engine.clone();
            engine.world.spawn(async move { finish(runner, body, pending, step, sender).await });
            SpawnProgress::Pending(receiver)
        }
    }
}

/// Takes the remaining steps of a spawn.
async fn finish<B: TaskBody>(
    engine: Arc<Engine>,
    body: B,
    mut pending: PendingSpawn,
    mut step: SpawnStep,
    sender: oneshot::Sender<SpawnResult>,
) {
    let spawned = loop {
        step = match step {
            SpawnStep::StoreInput => match pending.store_large_input(&engine).await {
                Ok(()) => SpawnStep::Commit,
                Err(error) => SpawnStep::Refuse(error),
            },
            SpawnStep::Commit => SpawnStep::Await(pending.commit(&engine, engine.now())),
            SpawnStep::Await(commit) => pending.after_commit(&engine, commit.await),
            SpawnStep::Start => break Ok(pending.start(engine, body)),
            SpawnStep::Refuse(error) => {
                pending.undo(&engine);
                pending.delete_input(&engine).await;
                break Err(error);
            }
            SpawnStep::FindByKey => {
                pending.undo(&engine);
                let found = find_by_key(&engine, &pending.task.spec).await;
                pending.delete_input(&engine).await;
                break found.map(|spec| TaskRef { engine, spec, viewer: pending.viewer });
            }
            SpawnStep::Rename => {
                pending.rename(&engine);
                SpawnStep::Commit
            }
            SpawnStep::LookUp(error) => return look_up(engine, body, pending, error, sender).await,
        };
    };
    drop(sender.send(spawned));
}

/// Finds out whether a commit without an answer was written. If that takes too
/// long the spawn is reported as failed, and the task, should it turn up, is
/// ended unstarted.
async fn look_up<B: TaskBody>(
    engine: Arc<Engine>,
    body: B,
    pending: PendingSpawn,
    error: StoreError,
    sender: oneshot::Sender<SpawnResult>,
) {
    let mut sender = Some(sender);
    for tries in 0.. {
        if engine.is_closed() {
            break;
        }
        match engine.store.task(pending.task.id()).await {
            Ok(Some(_)) => match sender.take() {
                Some(sender) => return drop(sender.send(Ok(pending.start(engine, body)))),
                None => return cancel::end_unacknowledged(&engine, pending.task.id()).await,
            },
            Ok(None) => break,
            Err(_) if tries >= LOOK_UPS => {
                if let Some(sender) = sender.take() {
                    drop(sender.send(Err(error.clone().into())));
                }
            }
            Err(_) => {}
        }
        engine.back_off(tries).await;
    }
    pending.undo(&engine);
    if let Some(sender) = sender {
        drop(sender.send(Err(error.into())));
    }
}

impl PendingSpawn {
    fn new(engine: &Engine, options: SpawnOptions, now: Stamp) -> Result<Self, Error> {
        let (spec, source, first_message) = options.validate(engine, now)?;
        let spec = Arc::new(spec);
        let slot = engine.slots.take(seat(&spec));
        // A task that has its slot is spawned running: one commit instead of
        // two.
        let worker = slot.is_some().then_some(engine.worker);
        let task = spawn(spec, worker, now);
        let live = Arc::new(LiveTask::spawned(task.clone(), source.live_session));
        engine.insert_live(live.clone());
        Ok(Self { task, live, slot, viewer: source.viewer, first_message })
    }

    fn commit(&self, engine: &Engine, now: Stamp) -> CommitFuture {
        let caps = engine.config.caps.clone();
        let spawn = SpawnWrite { task: self.task.clone(), caps };
        let mut batch = Batch::new(now);
        // An attempt that has lost its lease cannot spawn. A message to a
        // finished task may come through a reference of such an attempt.
        let continues = self.task.spec.terms.continues;
        if continues.is_none() {
            batch.fence = self.viewer.live.as_ref().and_then(|live| live.fence());
        }
        batch.push(Write::Spawn(spawn));
        if let Some(count) = self.tree_count(engine) {
            batch.push(Write::Count(count));
        }
        let id = self.task.id();
        if let Some(old) = continues {
            batch.push(Write::Adopt { from: Owner::Task(old), to: Owner::Task(id) });
        }
        if let Some(first) = &self.first_message {
            // The parent of a detached task does not own it, but it gets its
            // unread message back.
            if first.from.as_owner() != Some(self.task.owner()) {
                self.live.note_foreign_message();
            }
            let row = Row::message(first.clone(), Owner::Task(id));
            batch.push(Write::Deliver(Box::new(row)));
        }
        engine.store.commit(batch)
    }

    /// The step that follows from the outcome of the commit.
    fn after_commit(&self, engine: &Engine, outcome: Result<Cursor, CommitError>) -> SpawnStep {
        let error = match outcome {
            Ok(_) => return SpawnStep::Start,
            Err(error) => error,
        };
        match error {
            CommitError::Conflict(Conflict::Counter { value, .. }) => {
                let limit = self.tree_count(engine).and_then(|count| count.limit);
                let limit = limit.unwrap_or(value);
                SpawnStep::Refuse(Error::Cap(CapReached { cap: Cap::Tree, limit, used: value }))
            }
            CommitError::Conflict(Conflict::OwnerClosed(owner))
                if self.viewer.is_stopping(owner) =>
            {
                SpawnStep::Refuse(Error::Cancelled)
            }
            CommitError::Conflict(Conflict::KeyUsed(_)) => SpawnStep::FindByKey,
            CommitError::Conflict(Conflict::NameTaken(holder)) => match self.task.spec.naming {
                Naming::Given => {
                    let name = self.task.handle().to_owned();
                    SpawnStep::Refuse(Error::NameTaken { name, holder })
                }
                Naming::Counted => SpawnStep::Rename,
            },
            CommitError::Store(error @ StoreError::Unknown(_)) => SpawnStep::LookUp(error),
            error => SpawnStep::Refuse(Error::from_commit(error)),
        }
    }

    /// One more task of its kind below the same root, if the kind limits them.
    fn tree_count(&self, engine: &Engine) -> Option<CounterChange> {
        let spec = &self.task.spec;
        spec.lineage.parent?;
        let backend = engine.kinds.get(&spec.kind)?;
        let limit = panic::shield_or("tree_limit", None, || backend.tree_limit())?;
        let (owner, name) = (Owner::Task(spec.lineage.root), format!("below {}", spec.kind).into());
        Some(CounterChange { counter: Counter { owner, name }, by: 1, limit: Some(limit) })
    }

    fn has_large_input(&self, engine: &Engine) -> bool {
        self.task.spec.input.bytes() > engine.config.sizes.inline as u64
    }

    async fn store_large_input(&mut self, engine: &Engine) -> Result<(), Error> {
        let spec = &self.task.spec;
        let json = spec.input.as_json()?.into();
        let blob = engine.store.put_blob(spec.id, json).await?;
        let spec = Spec { input: blob.into(), ..(**spec).clone() };
        self.replace_spec(engine, spec);
        Ok(())
    }

    /// Deletes the large input of a task that was certainly not written. If it
    /// may have been written the input stays, and the next opening of the store
    /// decides.
    async fn delete_input(&self, engine: &Engine) {
        if let Payload::Blob(blob) = &self.task.spec.input
            && blob.task == self.task.id()
            && let Err(error) = engine.store.delete_blob(**blob).await
        {
            tracing::debug!(task = %blob.task, %error, "the input of a refused spawn was left");
        }
    }

    fn rename(&mut self, engine: &Engine) {
        let spec = &self.task.spec;
        let handle = engine.live_session(spec.lineage.session).next_name(spec.stem());
        let spec = Spec { handle, ..(**spec).clone() };
        self.replace_spec(engine, spec);
    }

    fn replace_spec(&mut self, engine: &Engine, spec: Spec) {
        let worker = self.task.lease.worker;
        self.task = spawn(Arc::new(spec), worker, self.task.since);
        let session = engine.live_session(self.task.spec.lineage.session);
        self.live = Arc::new(LiveTask::spawned(self.task.clone(), session));
        engine.insert_live(self.live.clone());
    }

    /// Starts or queues the body of a task whose record is durable.
    fn start<B: TaskBody>(self, engine: Arc<Engine>, body: B) -> TaskRef {
        let Self { task, live, slot, viewer, .. } = self;
        match slot {
            Some(slot) => attempt::launch(&engine, live, body, slot),
            None => attempt::queue(&engine, live, body),
        }
        if let (Some(_), Some(parent)) = (&task.spec.terms.key, &viewer.live) {
            engine.advance_later(parent);
        }
        TaskRef { engine, spec: task.spec.clone(), viewer }
    }

    fn undo(&self, engine: &Engine) {
        engine.remove_live(self.task.id());
    }
}

/// The spec of an earlier spawn with the same key, if its request is the same.
async fn find_by_key(engine: &Engine, spec: &Spec) -> Result<Arc<Spec>, Error> {
    let key = spec.terms.key.clone().unwrap_or_default();
    let found = engine.store.keyed(spec.owner(), &key).await?;
    let found = found.ok_or(Error::Contended)?;
    if !found.spec.asks_the_same(spec) && !has_same_blob(engine, &found.spec, spec).await? {
        return Err(Error::KeyReused { key, task: found.id() });
    }
    Ok(found.spec.clone())
}

/// Whether two requests differ only in the blobs that hold their equal inputs.
async fn has_same_blob(engine: &Engine, found: &Spec, spec: &Spec) -> Result<bool, Error> {
    let (Payload::Blob(one), Payload::Blob(other)) = (&found.input, &spec.input) else {
        return Ok(false);
    };
    let moved = Spec { input: found.input.clone(), ..spec.clone() };
    Ok(found.asks_the_same(&moved)
        && engine.store.blob(**one).await? == engine.store.blob(**other).await?)
}
