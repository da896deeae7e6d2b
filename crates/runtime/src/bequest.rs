//! What a session has in its inbox for a task that it owns: the ends of tasks
//! that were sent off in the task's conversation, and what was said to it.
//!
//! They come there in two ways. A task that ends before it has read something
//! leaves it to the session, and another task goes on with its history; and a
//! detached task tells its session, not its parent. Either way the conversation
//! believes that nothing has ended and nothing was said until somebody tells it.

use std::sync::Arc;

use offshoot_core::{MessageId, Owner, RowBody, Task, TaskId, Tie};
use offshoot_store::{Pending, Standing};

use crate::cell::Cell;
use crate::engine::Engine;
use crate::error::Error;
use crate::inbox::Rows;

impl Engine {
    /// One page of the unread rows of the session that owns a task, and of them
    /// those that are for the task.
    pub(crate) async fn drain_bequest(
        self: &Arc<Self>,
        cell: &Cell,
        after: u64,
        limit: usize,
    ) -> Result<Rows, Error> {
        self.check_open()?;
        let owner = cell.spec.owner();
        let rows = match owner {
            Owner::Session(_) => self.store.inbox(owner, after, limit.max(1)).await?,
            Owner::Task(_) => Vec::new(),
        };
        let rows = Rows::new(self.clone(), owner, None, rows).bequeathed_to(cell.spec.id);
        let mut talk = Talk::of(cell);
        let mut own = Vec::new();
        for pending in rows.pending() {
            if self.concerns(&mut talk, pending).await? {
                own.push(pending.row.id);
            }
        }
        Ok(rows.only(|row| own.contains(&row.id())))
    }

    /// Whether a row of its session's inbox is for a task.
    pub(crate) async fn is_bequest(&self, cell: &Cell, pending: &Pending) -> Result<bool, Error> {
        Ok(pending.row.owner == cell.spec.owner()
            && matches!(pending.row.owner, Owner::Session(_))
            && self.concerns(&mut Talk::of(cell), pending).await?)
    }

    /// Whether a row is a message to the conversation that nobody has read, or
    /// tells of a task that the conversation has sent off, or of one below such a
    /// task, whose own owner has ended.
    async fn concerns(&self, talk: &mut Talk, pending: &Pending) -> Result<bool, Error> {
        if let RowBody::Message(message) | RowBody::Returned(message) = &pending.row.body {
            return talk.has_missed(self, message.id).await;
        }
        let (RowBody::Result(_), Some(task)) = (&pending.row.body, &pending.task) else {
            return Ok(false);
        };
        let mut told: Task = task.clone();
        loop {
            let Some(parent) = told.spec.lineage.parent else { return Ok(false) };
            if talk.has(self, parent).await? {
                return Ok(true);
            }
            // The session is told of a detached task whoever else has ended.
            if told.spec.tie == Tie::Detached {
                return Ok(false);
            }
            let Some(above) = self.task(parent).await? else { return Ok(false) };
            told = above;
        }
    }
}

/// The tasks that had a conversation one after another, newest first, as far as
/// they are looked up.
struct Talk {
    tasks: Vec<TaskId>,
    /// The one before them.
    before: Option<TaskId>,
}

impl Talk {
    fn of(cell: &Cell) -> Self {
        Self { tasks: vec![cell.spec.id], before: cell.spec.terms.continues }
    }

    async fn has(&mut self, engine: &Engine, task: TaskId) -> Result<bool, Error> {
        if self.tasks.contains(&task) {
            return Ok(true);
        }
        while let Some(before) = self.look_back(engine).await? {
            if before == task {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether one of them has ended without reading a message that it got.
    async fn has_missed(&mut self, engine: &Engine, message: MessageId) -> Result<bool, Error> {
        let mut looked = 0;
        loop {
            let task = match self.tasks.get(looked) {
                Some(task) => *task,
                None => match self.look_back(engine).await? {
                    Some(task) => task,
                    None => return Ok(false),
                },
            };
            let standing = engine.store.message(Owner::Task(task), message).await?;
            if standing == Some(Standing::Returned) {
                return Ok(true);
            }
            looked += 1;
        }
    }

    /// Looks up the one before all that are known.
    async fn look_back(&mut self, engine: &Engine) -> Result<Option<TaskId>, Error> {
        let Some(before) = self.before else { return Ok(None) };
        self.tasks.push(before);
        let record = engine.task(before).await?;
        self.before = record.and_then(|record| record.spec.terms.continues);
        Ok(Some(before))
    }
}
