//! Stores with one bug each, which test that the harness finds it.
//!
//! A bug of a runtime or of a store is planted between the two: the wrapper receives a correct
//! batch and changes it. Each bug represents a defect of a published system.

use std::fmt;
use std::sync::Arc;

use offshoot_core::{
    Change, Cursor, InboxMessage, Name, Naming, Record, Retention, Row, SessionId, Spec, Step,
    StepState, Task,
};
use offshoot_runtime::BoxFuture;
use offshoot_store::{
    Batch, CommitError, CommitFuture, Conflict, EndWrite, ReadFuture, SpawnWrite, Store,
    StoreError, StoreWrapper, Write,
};
use tokio::sync::oneshot;

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// Rows are acknowledged in a commit of their own, before the commit that appends them to
    /// the history.
    AckBeforeAppend,
    /// The end of a task is written even if the record has changed since it was read.
    SettleWithoutFence,
    /// A name is checked before the insert instead of by the insert.
    NameCheckApart,
    /// The owner's row is written in a commit of its own, after the one that ends the task.
    WakeOutsideCommit,
    /// Every writer for an attempt is accepted as the holder of the lease.
    StaleWriterPasses,
    /// A cancel of several tasks is reported as done before it has begun.
    SweepEndsFirst,
    /// The keys of messages are not stored.
    MessageKeyDropped,
    /// Finished tasks are kept for half as long, and half as many.
    ForgottenEarly,
    /// The removal of a session is reported as done after its first part.
    RemovalStopsEarly,
    /// The start of a step that must not be repeated is not stored.
    StartedDropped,
}

impl PlantedBug {
    /// Every bug.
    pub const ALL: [Self; 10] = [
        Self::AckBeforeAppend,
        Self::SettleWithoutFence,
        Self::NameCheckApart,
        Self::WakeOutsideCommit,
        Self::StaleWriterPasses,
        Self::SweepEndsFirst,
        Self::MessageKeyDropped,
        Self::ForgottenEarly,
        Self::RemovalStopsEarly,
        Self::StartedDropped,
    ];

    /// The name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::AckBeforeAppend => "ack-before-append",
            Self::SettleWithoutFence => "settle-without-fence",
            Self::NameCheckApart => "name-check-apart",
            Self::WakeOutsideCommit => "wake-outside-commit",
            Self::StaleWriterPasses => "stale-writer-passes",
            Self::SweepEndsFirst => "sweep-ends-first",
            Self::MessageKeyDropped => "message-key-dropped",
            Self::ForgottenEarly => "forgotten-early",
            Self::RemovalStopsEarly => "removal-stops-early",
            Self::StartedDropped => "started-dropped",
        }
    }

    /// The bug of this name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bug| bug.word() == word)
    }
}

/// Executes a future to its end.
pub type Spawner = Arc<dyn Fn(BoxFuture<()>) + Send + Sync>;

/// A store with a bug.
#[derive(Clone)]
pub struct BuggyStore {
    inner: Arc<dyn Store>,
    bug: PlantedBug,
    spawner: Spawner,
}

impl fmt::Debug for BuggyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuggyStore").field("bug", &self.bug).finish_non_exhaustive()
    }
}

impl BuggyStore {
    /// `inner` with a bug; `spawner` executes the slow part of a commit.
    pub fn new(inner: Arc<dyn Store>, bug: PlantedBug, spawner: Spawner) -> Self {
        Self { inner, bug, spawner }
    }

    async fn misbehave(self, batch: Batch) -> Result<Cursor, CommitError> {
        match self.bug {
            PlantedBug::AckBeforeAppend => {
                let (first, second) = split(batch, |write| matches!(write, Write::Ack(_)));
                self.inner.commit(first).await?;
                self.inner.commit(second).await
            }
            PlantedBug::WakeOutsideCommit => {
                let (first, second) = without_notice(batch);
                self.inner.commit(first).await?;
                self.inner.commit(second).await
            }
            PlantedBug::SettleWithoutFence => self.settle(batch).await,
            PlantedBug::NameCheckApart => self.insert(batch).await,
            PlantedBug::StaleWriterPasses => self.write_for(batch).await,
            PlantedBug::SweepEndsFirst => self.sweep(batch).await,
            PlantedBug::MessageKeyDropped => self.inner.commit(without_keys(batch)).await,
            PlantedBug::StartedDropped => {
                let (_, kept) = split(batch, is_started);
                self.inner.commit(kept).await
            }
            PlantedBug::ForgottenEarly | PlantedBug::RemovalStopsEarly => {
                self.inner.commit(batch).await
            }
        }
    }

    /// Writes regardless of the current records.
    async fn settle(&self, mut batch: Batch) -> Result<Cursor, CommitError> {
        batch.fence = None;
        batch.guards.clear();
        for write in &mut batch.writes {
            if let Write::Put(task, _) | Write::End(EndWrite { task, .. }) = write
                && let Some(stored) = self.inner.task(task.id()).await?
            {
                *task = Record { seq: stored.seq + 1, ..task.to_record() }.into();
            }
        }
        self.inner.commit(batch).await
    }

    /// Checks the name, then inserts without a check.
    async fn insert(&self, batch: Batch) -> Result<Cursor, CommitError> {
        for write in &batch.writes {
            if let Write::Spawn(spawn) = write {
                let (owner, name) = (spawn.task.owner(), spawn.task.spec.handle.key());
                let found = self.inner.named(owner, name).await?;
                if let Some(found) = found.filter(Task::is_live) {
                    return Err(Conflict::NameTaken(found.id()).into());
                }
            }
        }
        match self.inner.commit(batch.clone()).await {
            Err(CommitError::Conflict(Conflict::NameTaken(_))) => {
                self.inner.commit(under_another_name(batch)).await
            }
            done => done,
        }
    }

    /// Writes under any lease.
    async fn write_for(&self, mut batch: Batch) -> Result<Cursor, CommitError> {
        if let Some(fence) = &mut batch.fence
            && let Some(stored) = self.inner.task(fence.task).await?
        {
            fence.epoch = stored.lease.epoch;
        }
        self.inner.commit(batch).await
    }

    /// Removes a sweep from the session's record as soon as it is in it.
    async fn sweep(&self, batch: Batch) -> Result<Cursor, CommitError> {
        let mut second = Batch::new(batch.at);
        for write in &batch.writes {
            if let Write::PutSession(session, Change::SweepBegan) = write {
                let mut session = session.clone();
                session.seq += 1;
                session.sweeps.pop();
                second.push(Write::PutSession(session, Change::SweepEnded));
            }
        }
        self.inner.commit(batch).await?;
        self.inner.commit(second).await
    }

    fn is_concerned(&self, batch: &Batch) -> bool {
        let has = |wanted: fn(&Write) -> bool| batch.writes.iter().any(wanted);
        match self.bug {
            PlantedBug::AckBeforeAppend => {
                has(|write| matches!(write, Write::Append { .. }))
                    && has(|write| matches!(write, Write::Ack(_)))
            }
            PlantedBug::SettleWithoutFence | PlantedBug::WakeOutsideCommit => {
                has(|write| matches!(write, Write::End(_)))
            }
            PlantedBug::NameCheckApart => has(|write| match write {
                Write::Spawn(spawn) => spawn.task.spec.naming == Naming::Given,
                _ => false,
            }),
            PlantedBug::StaleWriterPasses => batch.fence.is_some(),
            PlantedBug::SweepEndsFirst => {
                has(|write| matches!(write, Write::PutSession(_, Change::SweepBegan)))
            }
            PlantedBug::MessageKeyDropped => has(|write| matches!(write, Write::Send { .. })),
            PlantedBug::StartedDropped => has(is_started),
            PlantedBug::ForgottenEarly | PlantedBug::RemovalStopsEarly => false,
        }
    }
}

fn is_started(write: &Write) -> bool {
    matches!(write, Write::Step(Step { state: StepState::Started, .. }))
}

/// Splits a batch in two: the writes that are `apart`, and the others.
fn split(batch: Batch, apart: impl Fn(&Write) -> bool) -> (Batch, Batch) {
    let mut first = Batch::new(batch.at);
    first.fence = batch.fence;
    first.guards = batch.guards.clone();
    let mut second = first.clone();
    for write in batch.writes {
        if apart(&write) {
            first.writes.push(write);
        } else {
            second.writes.push(write);
        }
    }
    (first, second)
}

/// Splits a batch in two: ends without notice, and the rows that report them.
fn without_notice(mut batch: Batch) -> (Batch, Batch) {
    let mut second = Batch::new(batch.at);
    for write in &mut batch.writes {
        if let Write::End(EndWrite { task, change, recipient }) = write {
            let row = Row::result(task.id(), *recipient, batch.at);
            second.push(Write::Deliver(Box::new(row)));
            *write = Write::Put(task.clone(), change.clone());
        }
    }
    (batch, second)
}

fn without_keys(mut batch: Batch) -> Batch {
    for write in &mut batch.writes {
        if let Write::Send { message, .. } = write {
            *message = Arc::new(InboxMessage { key: None, ..(**message).clone() });
        }
    }
    batch
}

/// The store refuses a duplicate name, so the second task is stored under a name that only the
/// store sees.
fn under_another_name(mut batch: Batch) -> Batch {
    for write in &mut batch.writes {
        if let Write::Spawn(spawn) = write {
            let SpawnWrite { task, .. } = spawn;
            let tail = task.id().to_string();
            let name = format!("{}-{}", task.handle(), &tail[tail.len() - 12..]);
            if let Ok(handle) = Name::new(&name) {
                let spec = Arc::new(Spec { handle, ..(*task.spec).clone() });
                *task = Record { spec, ..task.to_record() }.into();
            }
        }
    }
    batch
}

impl StoreWrapper for BuggyStore {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(self.inner.clone())
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        if !self.is_concerned(&batch) {
            return self.inner.commit(batch);
        }
        let (reply, answer) = oneshot::channel();
        let store = self.clone();
        (self.spawner)(Box::pin(async move {
            // The receiver may be gone.
            drop(reply.send(store.misbehave(batch).await));
        }));
        CommitFuture::later(answer)
    }

    fn wrap_remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        let removed = self.inner.remove(session, limit);
        if self.bug != PlantedBug::RemovalStopsEarly {
            return removed;
        }
        let (reply, answer) = oneshot::channel();
        (self.spawner)(Box::pin(async move {
            drop(reply.send(removed.await.map(|_| 0)));
        }));
        ReadFuture::later(answer)
    }

    fn wrap_set_retention(&self, retention: Retention) {
        self.inner.set_retention(match self.bug {
            PlantedBug::ForgottenEarly => Retention {
                delivered: retention.delivered / 2,
                undelivered: retention.undelivered / 2,
                in_memory: retention.in_memory / 2,
                ..retention
            },
            _ => retention,
        });
    }
}
