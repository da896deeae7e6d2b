//! A task as somebody holds it.

use std::sync::Arc;

use offshoot_core::{Caller, Owner, Spec, Task, TaskId, Visibility};
use serde::Serialize;

use crate::cancel::Cancelling;
use crate::cell::Cell;
use crate::engine::Engine;
use crate::error::Error;
use crate::history::Peeking;
use crate::look::{Snapshot, Why};
use crate::message::{Address, Sending};
use crate::wait::Wait;
use crate::watch::Watch;

/// Who looks and acts through a reference.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    pub(crate) caller: Caller,
    pub(crate) visibility: Visibility,
    /// The body for which this viewer acts, if it is one.
    pub(crate) cell: Option<Arc<Cell>>,
}

impl Viewer {
    pub(crate) fn new(caller: Caller, visibility: Visibility) -> Self {
        Self { caller, visibility, cell: None }
    }

    pub(crate) fn host() -> Self {
        Self::new(Caller::Host, Visibility::Subtree)
    }

    pub(crate) fn task(cell: Arc<Cell>) -> Self {
        let caller = Caller::Task(cell.spec.id);
        Self { caller, visibility: cell.spec.visibility, cell: Some(cell) }
    }

    /// Whether the body that spawns is closed as an owner because it was asked
    /// to stop itself. Then that is what it is told.
    pub(crate) fn stops(&self, owner: Owner) -> bool {
        let Some(cell) = &self.cell else { return false };
        cell.is_cancelled() || (owner == Owner::Task(cell.id()) && cell.epoch() != 0)
    }
}

/// A task as somebody holds it: the host, a session, or another task. What it
/// may do is what that somebody may do. Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct TaskRef {
    pub(crate) engine: Arc<Engine>,
    pub(crate) spec: Arc<Spec>,
    pub(crate) viewer: Viewer,
}

impl TaskRef {
    pub(crate) fn new(engine: Arc<Engine>, spec: Arc<Spec>, viewer: Viewer) -> Self {
        Self { engine, spec, viewer }
    }

    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.spec.id
    }

    /// What people and models call it.
    pub fn handle(&self) -> &str {
        self.spec.handle.as_str()
    }

    /// What was asked for.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The record as it is now.
    pub async fn record(&self) -> Result<Task, Error> {
        let task = self.engine.task(self.id()).await?;
        task.ok_or_else(|| Error::not_found(self.id()))
    }

    /// The record as it is now, with what only this process knows.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        Ok(self.engine.snapshot(self.record().await?))
    }

    /// Waits for the task to end, or to need input. Dropping the wait changes
    /// nothing.
    pub fn wait(&self) -> Wait {
        Wait::new(self.clone())
    }

    /// The current record, then the latest whenever it has changed.
    pub fn watch(&self) -> Watch {
        Watch::new(self.clone())
    }

    /// Sends a message to the task.
    pub fn send(&self, text: &str) -> Sending {
        Sending::new(self.engine.clone(), self.viewer.clone(), Address::Task(self), text)
    }

    /// Asks the task and all its descendants to stop. Resolves when the
    /// request has reached them all; wait for the task to see it end.
    pub fn cancel(&self, reason: &str) -> Cancelling {
        Cancelling::new(self.clone(), reason)
    }

    /// Answers a question the task asked.
    pub async fn answer<T: Serialize>(&self, number: u32, answer: &T) -> Result<(), Error> {
        let answer = offshoot_core::Payload::encode(answer)?;
        self.engine.answer(&self.viewer, self.id(), number, answer).await
    }

    /// The questions the task has asked.
    pub async fn questions(&self) -> Result<Vec<offshoot_core::Question>, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.questions(self.id()).await?)
    }

    /// The last blocks of the task's history.
    pub fn peek(&self) -> Peeking {
        Peeking::new(self.clone())
    }

    /// What the task waits on, in words.
    pub async fn why(&self) -> Result<Why, Error> {
        self.engine.why(self.record().await?).await
    }
}
