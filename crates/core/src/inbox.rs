//! What a session or task must still read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{RowId, TaskId};
use crate::lineage::Owner;
use crate::message::Message;
use crate::task::{Task, Wake};
use crate::time::Stamp;

/// One row of an inbox, unread until it is acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its id: the same whoever reads it, however often.
    pub id: RowId,
    /// Whose inbox it is in.
    pub owner: Owner,
    /// When it was put there.
    pub at: Stamp,
    /// What it says.
    pub body: RowBody,
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowBody {
    /// A task has ended; its record says how.
    Result(TaskId),
    /// Somebody says something: to the owner of the inbox, or to a task that
    /// ended before it read it and whose rows the owner inherits.
    Message(Arc<Message>),
    /// A message comes back unread.
    Returned(Arc<Message>),
    /// A task asks the question of this number.
    Question {
        /// The task.
        task: TaskId,
        /// The question.
        number: u32,
    },
}

impl RowBody {
    /// Whether an idle owner shall wake for it. `task` is the record of the
    /// task that has ended, if it is known.
    ///
    /// Messages and questions always wake: somebody waits for the owner. An end
    /// does as its task's [`Wake`] says.
    pub fn wakes(&self, task: Option<&Task>) -> bool {
        match self {
            Self::Result(_) => task.is_none_or(|task| task.spec.wake != Wake::Silent),
            Self::Message(_) | Self::Returned(_) | Self::Question { .. } => true,
        }
    }
}

impl Row {
    /// The row that tells `owner` of the end of `task`.
    pub fn result(task: TaskId, owner: Owner, at: Stamp) -> Self {
        Self { id: task.into(), owner, at, body: RowBody::Result(task) }
    }

    /// The row that puts `message` before `owner`.
    pub fn message(message: Arc<Message>, owner: Owner) -> Self {
        let (id, at) = (message.id.into(), message.at);
        Self { id, owner, at, body: RowBody::Message(message) }
    }
}
