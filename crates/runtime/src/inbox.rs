//! What came home: rows of an inbox, in the order in which they came.

use std::sync::Arc;

use offshoot_core::{Message, Owner, RowBody, RowId, Task, TaskId, WaitingOn};
use offshoot_store::{Ack, Batch, Fence, Pending, RowRef, Strictness, Write};

use crate::cell::Cell;
use crate::engine::Engine;
use crate::error::Error;

/// Unread rows of an inbox. Reading acknowledges nothing: they are returned
/// again until [`Rows::ack`], or until the commit that appends them to a
/// history.
#[derive(Clone, Debug)]
pub struct Rows {
    engine: Arc<Engine>,
    owner: Owner,
    epoch: Option<u32>,
    rows: Vec<Pending>,
    /// Where the last one stands that was read, picked or not.
    last: Option<u64>,
    /// The task for which its session has them, if they are such.
    heir: Option<TaskId>,
}

/// One unread row.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a>(&'a Pending);

impl<'a> Arrival<'a> {
    /// Its id: the same however often it is read.
    pub fn id(&self) -> RowId {
        self.0.row.id
    }

    /// The task that has ended, or asks, with handle, lineage and outcome.
    pub fn task(&self) -> Option<&'a Task> {
        self.0.task.as_ref()
    }

    /// The task that has ended, if the row tells of an end.
    pub fn result(&self) -> Option<&'a Task> {
        self.task().filter(|_| matches!(self.body(), RowBody::Result(_)))
    }

    /// What it says.
    pub fn body(&self) -> &'a RowBody {
        &self.0.row.body
    }

    /// The message, if it carries one.
    pub fn message(&self) -> Option<&'a Message> {
        match &self.0.row.body {
            RowBody::Message(message) => Some(message),
            _ => None,
        }
    }
}

impl Rows {
    pub(crate) fn new(
        engine: Arc<Engine>,
        owner: Owner,
        epoch: Option<u32>,
        rows: Vec<Pending>,
    ) -> Self {
        let last = rows.last().map(|pending| pending.number);
        Self { engine, owner, epoch, rows, last, heir: None }
    }

    /// These, which the session has for a task.
    pub(crate) fn bequeathed_to(mut self, heir: TaskId) -> Self {
        self.heir = Some(heir);
        self
    }

    /// Whether they may enter the history of this owner.
    pub(crate) fn are_for(&self, owner: Owner) -> bool {
        self.owner == owner || self.heir.map(Owner::Task) == Some(owner)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where the last of them stands, or one behind it that was not picked; see
    /// [`Context::drain_after`](crate::Context::drain_after).
    pub fn last_number(&self) -> Option<u64> {
        self.last
    }

    /// The rows, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Arrival<'_>> {
        self.rows.iter().map(Arrival)
    }

    /// Those of the rows that `wanted` picks. The others stay unread.
    #[must_use]
    pub fn only(mut self, mut wanted: impl FnMut(Arrival<'_>) -> bool) -> Self {
        self.rows.retain(|row| wanted(Arrival(row)));
        self
    }

    /// The first of the rows. The others stay unread.
    #[must_use]
    pub fn first(mut self, count: usize) -> Self {
        if count < self.rows.len() {
            self.rows.truncate(count);
            self.last = self.rows.last().map(|pending| pending.number);
        }
        self
    }

    pub(crate) fn pending(&self) -> &[Pending] {
        &self.rows
    }

    pub(crate) fn references(&self) -> impl Iterator<Item = RowRef> {
        self.rows.iter().map(Pending::reference)
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Marks the rows as read. Acknowledging twice changes nothing.
    pub async fn ack(&self) -> Result<(), Error> {
        self.engine.check_open()?;
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = self.references().collect();
        let ack = Ack { owner: self.owner, rows, strictness: Strictness::MayBeGone };
        let mut batch = Batch::new(self.engine.now());
        batch.push(Write::Ack(ack));
        if let (Owner::Task(task), Some(epoch)) = (self.owner, self.epoch) {
            batch.fence = Some(Fence { task, epoch });
        }
        self.engine.store.commit(batch).await.map_err(Error::from_commit)?;
        if let (Owner::Task(task), Some(_)) = (self.owner, self.epoch)
            && let Some(cell) = self.engine.cell(task)
        {
            self.engine.advance(&cell).await;
        }
        Ok(())
    }
}

impl Engine {
    pub(crate) async fn drain_task(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        after: u64,
        limit: usize,
    ) -> Result<Rows, Error> {
        self.check_open()?;
        let owner = Owner::Task(cell.spec.id);
        let rows = self.store.inbox(owner, after, limit.max(1)).await?;
        if let Some(last) = rows.last() {
            cell.mark_read(last.number);
        }
        Ok(Rows::new(self.clone(), owner, Some(cell.epoch()), rows))
    }

    pub(crate) async fn receive(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        limit: usize,
    ) -> Result<Rows, Error> {
        let rows = self.drain_task(cell, 0, limit).await?;
        if !rows.is_empty() {
            return Ok(rows);
        }
        let parked = self.park(cell, WaitingOn::Message).await?;
        let received = loop {
            let nudged = cell.nudge.listen();
            match self.drain_task(cell, 0, limit).await {
                Ok(rows) if rows.is_empty() => {}
                received => break received,
            }
            if cell.is_cancelled() {
                break Err(Error::Cancelled);
            }
            nudged.await;
            // What else is on its way is read together with it.
            self.pause().await;
        };
        parked.end().await?;
        received
    }
}
