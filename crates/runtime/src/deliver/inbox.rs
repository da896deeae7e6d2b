//! The unread rows of an inbox, in the order in which they came.

use std::sync::Arc;

use offshoot_core::{InboxMessage, Owner, RowBody, RowId, Task, TaskId, WaitingOn};
use offshoot_store::{Ack, Batch, Fence, PendingRow, RowRef, Strictness, Write};

use crate::engine::Engine;
use crate::engine::live_task::LiveTask;
use crate::error::Error;
use crate::suspend::suspend;

/// Unread rows of an inbox.
///
/// Reading acknowledges nothing: the rows are returned again until
/// [`InboxRows::ack`], or until a commit that appends them to a history.
#[derive(Clone, Debug)]
pub struct InboxRows {
    engine: Arc<Engine>,
    owner: Owner,
    epoch: Option<u32>,
    rows: Vec<PendingRow>,
    /// The number of the last row that was read, picked or not.
    last: Option<u64>,
    /// The task that inherits the rows from its session, if it does.
    recipient: Option<TaskId>,
}

/// One unread row.
#[derive(Clone, Copy, Debug)]
pub struct InboxRow<'a>(&'a PendingRow);

impl<'a> InboxRow<'a> {
    /// The id of the row, the same however often it is read.
    pub fn id(&self) -> RowId {
        self.0.row.id
    }

    /// The record of the task that has ended or asks.
    pub fn task(&self) -> Option<&'a Task> {
        self.0.task.as_ref()
    }

    /// The record of the task that has ended, if the row is about an end.
    pub fn result(&self) -> Option<&'a Task> {
        self.task().filter(|_| matches!(self.body(), RowBody::Result(_)))
    }

    /// The content of the row.
    pub fn body(&self) -> &'a RowBody {
        &self.0.row.body
    }

    /// The message, if the row carries one.
    pub fn message(&self) -> Option<&'a InboxMessage> {
        match &self.0.row.body {
            RowBody::Message(message) => Some(message),
            _ => None,
        }
    }
}

impl InboxRows {
    pub(crate) fn new(
        engine: Arc<Engine>,
        owner: Owner,
        epoch: Option<u32>,
        rows: Vec<PendingRow>,
    ) -> Self {
        let last = rows.last().map(|pending| pending.number);
        Self { engine, owner, epoch, rows, last, recipient: None }
    }

    /// Marks the rows as inherited by a task from its session.
    pub(super) fn inherited_by(mut self, recipient: TaskId) -> Self {
        self.recipient = Some(recipient);
        self
    }

    /// Whether the rows may enter the history of this owner.
    pub(crate) fn are_for(&self, owner: Owner) -> bool {
        self.owner == owner || self.recipient.map(Owner::Task) == Some(owner)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of the last row that was read, even if it was not picked; see
    /// [`Context::drain_after`](crate::Context::drain_after).
    pub fn last_number(&self) -> Option<u64> {
        self.last
    }

    /// The rows, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = InboxRow<'_>> {
        self.rows.iter().map(InboxRow)
    }

    /// Keeps the rows that `wanted` picks. The others stay unread.
    #[must_use]
    pub fn only(mut self, mut wanted: impl FnMut(InboxRow<'_>) -> bool) -> Self {
        self.rows.retain(|row| wanted(InboxRow(row)));
        self
    }

    /// Keeps the first `count` rows. The others stay unread.
    #[must_use]
    pub fn first(mut self, count: usize) -> Self {
        if count < self.rows.len() {
            self.rows.truncate(count);
            self.last = self.rows.last().map(|pending| pending.number);
        }
        self
    }

    pub(super) fn pending(&self) -> &[PendingRow] {
        &self.rows
    }

    pub(crate) fn references(&self) -> impl Iterator<Item = RowRef> {
        self.rows.iter().map(PendingRow::reference)
    }

    pub(crate) fn owner(&self) -> Owner {
        self.owner
    }

    /// Acknowledges the rows. A second call changes nothing.
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
            && let Some(live) = self.engine.live_task(task)
        {
            self.engine.advance(&live).await;
        }
        Ok(())
    }
}

/// The unread rows of a task's inbox behind the number `after`, up to `limit`.
pub(crate) async fn drain_task(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    after: u64,
    limit: usize,
) -> Result<InboxRows, Error> {
    engine.check_open()?;
    let owner = Owner::Task(live.spec.id);
    let rows = engine.store.inbox(owner, after, limit.max(1)).await?;
    if let Some(last) = rows.last() {
        live.mark_read(last.number);
    }
    Ok(InboxRows::new(engine.clone(), owner, Some(live.epoch()), rows))
}

/// The unread rows of a task's inbox once there are any.
pub(crate) async fn receive_task(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    limit: usize,
) -> Result<InboxRows, Error> {
    let rows = drain_task(engine, live, 0, limit).await?;
    if !rows.is_empty() {
        return Ok(rows);
    }
    let suspension = suspend(engine, live, WaitingOn::Message).await?;
    let received = loop {
        let notified = live.wakeup.notified();
        match drain_task(engine, live, 0, limit).await {
            Ok(rows) if rows.is_empty() => {}
            received => break received,
        }
        if live.is_cancelled() {
            break Err(Error::Cancelled);
        }
        notified.await;
        // Tasks that end now are read in the same drain.
        engine.yield_now().await;
    };
    suspension.end().await?;
    received
}
