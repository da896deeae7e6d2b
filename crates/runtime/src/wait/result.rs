//! The result of a wait.

use std::sync::Arc;

use offshoot_core::{Caller, Outcome, Owner, Payload, Task, digest};
use offshoot_store::{
    Ack, Batch, CommitError, Conflict, Fence, PendingRow, RowRef, Strictness, Write,
};
use serde::de::DeserializeOwned;

use super::WaitEnd;
use crate::engine::Engine;
use crate::engine::handle::Viewer;
use crate::error::Error;

/// The result of a wait for one task.
#[derive(Clone, Debug)]
pub struct WaitResult {
    /// The record.
    pub task: Task,
    /// Why the wait returned.
    pub end: WaitEnd,
    engine: Arc<Engine>,
    viewer: Viewer,
    /// The attempt of the body that waited, if one did.
    epoch: Option<u32>,
}

impl WaitResult {
    pub(super) fn new(engine: Arc<Engine>, viewer: Viewer, task: Task, end: WaitEnd) -> Self {
        let epoch = viewer.live.as_ref().map(|live| live.epoch());
        Self { task, end, engine, viewer, epoch }
    }

    /// Whether the task has ended.
    pub fn is_ended(&self) -> bool {
        self.end == WaitEnd::Ended
    }

    /// The outcome of a task that has ended.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.task.ended()
    }

    /// Decodes the value of a completed task from its record. Otherwise the
    /// error says what state the task is in, or how it ended.
    ///
    /// [`WaitResult::load`] also reads values that are too large for a record.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(self.value()?.decode()?)
    }

    /// Decodes the value of a completed task, however large it is.
    pub async fn load<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.engine.load(self.value()?).await
    }

    fn value(&self) -> Result<&Payload, Error> {
        match self.task.ended() {
            Some(Outcome::Completed { value, .. }) => Ok(value),
            Some(_) => Err(self.not_completed(digest(&self.task, 512))),
            None => Err(self.not_completed(format!("it is {}", self.task.state))),
        }
    }

    fn not_completed(&self, detail: String) -> Error {
        Error::NotCompleted { handle: self.task.handle().to_owned(), detail }
    }

    /// The inbox row of the end, while it is unread. Its id is the same however
    /// often it is read.
    pub async fn row(&self) -> Result<Option<RowRef>, Error> {
        self.engine.check_open()?;
        Ok(self.unread_row().await?.map(|pending| pending.reference()))
    }

    async fn unread_row(&self) -> Result<Option<PendingRow>, Error> {
        match self.end {
            WaitEnd::Ended => Ok(self.engine.store.result_row(self.task.id()).await?),
            WaitEnd::NeedsInput | WaitEnd::TimedOut => Ok(None),
        }
    }

    /// Acknowledges the inbox row of the end, so that it is not drained.
    ///
    /// Only the owner of the row and the host may. A second call changes
    /// nothing.
    pub async fn ack(&self) -> Result<(), Error> {
        self.engine.check_open()?;
        while let Some(pending) = self.unread_row().await? {
            let owner = pending.row.owner;
            let Viewer { caller, live, .. } = &self.viewer;
            if *caller != Caller::Host && caller.as_owner() != Some(owner) {
                return Err(Error::Forbidden(self.task.id()));
            }
            let rows = [pending.reference()].into();
            let mut batch = Batch::new(self.engine.now());
            batch.push(Write::Ack(Ack { owner, rows, strictness: Strictness::MustBePending }));
            if let (Owner::Task(task), Some(epoch)) = (owner, self.epoch) {
                batch.fence = Some(Fence { task, epoch });
            }
            match self.engine.store.commit(batch).await {
                // The row was read meanwhile, or has moved to another owner.
                Err(CommitError::Conflict(Conflict::RowGone(_))) => {}
                Err(error) => return Err(Error::from_commit(error)),
                Ok(_) => {
                    if let Some(live) = live {
                        self.engine.advance(live).await;
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
