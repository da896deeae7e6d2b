//! Inbox rows: results, messages and questions for a session or task.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{RowId, TaskId};
use crate::lineage::Owner;
use crate::message::InboxMessage;
use crate::task::{Task, Wake};
use crate::time::Stamp;

/// A row of an inbox. It is unread until it is acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its id. It stays the same when the row moves to another inbox.
    pub id: RowId,
    /// The owner of the inbox.
    pub owner: Owner,
    /// When the row was added.
    pub at: Stamp,
    /// Its content.
    pub body: RowBody,
}

/// The content of an inbox row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowBody {
    /// A task has ended. The task's record has the outcome.
    Result(TaskId),
    /// A message to the owner of the inbox, or to a task that ended before it read the
    /// message and whose rows the owner inherited.
    Message(Arc<InboxMessage>),
    /// A message to another task, returned unread.
    Returned(Arc<InboxMessage>),
    /// A question of a task.
    Question {
        /// The task.
        task: TaskId,
        /// The question's number.
        number: u32,
    },
}

impl RowBody {
    /// Whether the row wakes an idle owner. `task` is the record of the ended task, if it
    /// is known.
    ///
    /// Messages and questions always wake the owner, because a sender waits. A result does
    /// as its task's [`Wake`] says.
    pub fn wakes(&self, task: Option<&Task>) -> bool {
        match self {
            Self::Result(_) => task.is_none_or(|task| task.spec.wake != Wake::Silent),
            Self::Message(_) | Self::Returned(_) | Self::Question { .. } => true,
        }
    }
}

impl Row {
    /// The row that informs `owner` of the end of `task`.
    pub fn result(task: TaskId, owner: Owner, at: Stamp) -> Self {
        Self { id: task.into(), owner, at, body: RowBody::Result(task) }
    }

    /// The row that delivers `message` to `owner`.
    pub fn message(message: Arc<InboxMessage>, owner: Owner) -> Self {
        let (id, at) = (message.id.into(), message.at);
        Self { id, owner, at, body: RowBody::Message(message) }
    }
}
