//! Messages to tasks, and what became of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, TaskId};
use crate::scope::Caller;
use crate::time::Stamp;

/// A message on its way to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Who sent it.
    pub from: Caller,
    /// What it says.
    pub text: Arc<str>,
    /// When the task shall read it.
    pub mode: Mode,
    /// The key under which a repeated send finds this message again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// When it was sent.
    pub at: Stamp,
}

/// When a task shall read a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Before its next step.
    #[default]
    Steer,
    /// Now: the running model call is cut.
    Interrupt,
    /// When its turn ends.
    FollowUp,
}

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// Durable in the task's inbox.
    Queued,
    /// Read by the task's present attempt.
    Delivered,
    /// Part of the task's history or of a step.
    Consumed,
    /// Back with its sender, unread, because the task ended.
    Returned,
}

/// What the sender gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The message.
    pub message: MessageId,
    /// The task that has it: a new one if the addressed task had ended and
    /// goes on.
    pub task: TaskId,
    /// How far it has come.
    pub state: MessageState,
}
