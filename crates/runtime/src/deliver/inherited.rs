//! Inherited rows: rows in a session's inbox that are for one of its tasks.
//!
//! They come there in two ways. A task that ends leaves its unread rows to the
//! session, and another task continues its history. A detached task reports to
//! its session instead of its parent. In both cases the conversation has not
//! seen the row until the continuing task reads it.

use std::sync::Arc;

use offshoot_core::{MessageId, Owner, RowBody, Task, TaskId, Tie};
use offshoot_store::{MessagePosition, PendingRow};

use super::inbox::InboxRows;
use crate::engine::Engine;
use crate::engine::live_task::LiveTask;
use crate::error::Error;

/// Reads one page of the unread rows of the session that owns a task, and
/// returns those that are for the task.
pub(crate) async fn drain_inherited(
    engine: &Arc<Engine>,
    live: &LiveTask,
    after: u64,
    limit: usize,
) -> Result<InboxRows, Error> {
    engine.check_open()?;
    let owner = live.spec.owner();
    let rows = match owner {
        Owner::Session(_) => engine.store.inbox(owner, after, limit.max(1)).await?,
        Owner::Task(_) => Vec::new(),
    };
    let rows = InboxRows::new(engine.clone(), owner, None, rows).inherited_by(live.spec.id);
    let mut chain = TaskChain::of(live);
    let mut own = Vec::new();
    for pending in rows.pending() {
        if is_for(engine, &mut chain, pending).await? {
            own.push(pending.row.id);
        }
    }
    Ok(rows.only(|row| own.contains(&row.id())))
}

/// Whether a row of its session's inbox is for a task.
pub(crate) async fn is_inherited(
    engine: &Engine,
    live: &LiveTask,
    pending: &PendingRow,
) -> Result<bool, Error> {
    Ok(pending.row.owner == live.spec.owner()
        && matches!(pending.row.owner, Owner::Session(_))
        && is_for(engine, &mut TaskChain::of(live), pending).await?)
}

/// Whether a row is an unread message to the conversation, or the end of a task
/// that the conversation has spawned, or of a descendant of such a task whose
/// own owner has ended.
async fn is_for(
    engine: &Engine,
    chain: &mut TaskChain,
    pending: &PendingRow,
) -> Result<bool, Error> {
    if let RowBody::Message(message) | RowBody::Returned(message) = &pending.row.body {
        return chain.has_missed(engine, message.id).await;
    }
    let (RowBody::Result(_), Some(task)) = (&pending.row.body, &pending.task) else {
        return Ok(false);
    };
    let mut task: Task = task.clone();
    loop {
        let Some(parent) = task.spec.lineage.parent else { return Ok(false) };
        if chain.contains(engine, parent).await? {
            return Ok(true);
        }
        // A detached task reports to the session, whether or not other tasks
        // have ended.
        if task.spec.tie == Tie::Detached {
            return Ok(false);
        }
        let Some(above) = engine.task(parent).await? else { return Ok(false) };
        task = above;
    }
}

/// The tasks that have continued one conversation, newest first, as far as they
/// have been read.
struct TaskChain {
    tasks: Vec<TaskId>,
    /// The task before them.
    before: Option<TaskId>,
}

impl TaskChain {
    fn of(live: &LiveTask) -> Self {
        Self { tasks: vec![live.spec.id], before: live.spec.terms.continues }
    }

    async fn contains(&mut self, engine: &Engine, task: TaskId) -> Result<bool, Error> {
        if self.tasks.contains(&task) {
            return Ok(true);
        }
        while let Some(before) = self.read_previous(engine).await? {
            if before == task {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether one of the tasks has ended without reading this message.
    async fn has_missed(&mut self, engine: &Engine, message: MessageId) -> Result<bool, Error> {
        let mut checked = 0;
        loop {
            let task = match self.tasks.get(checked) {
                Some(task) => *task,
                None => match self.read_previous(engine).await? {
                    Some(task) => task,
                    None => return Ok(false),
                },
            };
            let standing = engine.store.message(Owner::Task(task), message).await?;
            if standing == Some(MessagePosition::Returned) {
                return Ok(true);
            }
            checked += 1;
        }
    }

    /// Adds the task before those that are known, and returns it.
    async fn read_previous(&mut self, engine: &Engine) -> Result<Option<TaskId>, Error> {
        let Some(before) = self.before else { return Ok(None) };
        self.tasks.push(before);
        let record = engine.task(before).await?;
        self.before = record.and_then(|record| record.spec.terms.continues);
        Ok(Some(before))
    }
}
