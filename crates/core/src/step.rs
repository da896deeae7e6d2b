//! The journal: the steps a task has committed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::payload::Payload;
use crate::time::Stamp;

/// A step of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Whose.
    pub task: TaskId,
    /// Its key, unique within the task.
    pub key: Arc<str>,
    /// How far it has come.
    pub state: StepState,
}

/// How far a step has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// It began, and nothing is known beyond that.
    Started,
    /// It has this value, and is never computed again.
    Committed(Payload),
}

/// A moment that a task waits for. It keeps its wall-clock due time across
/// restarts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// Whose.
    pub task: TaskId,
    /// Its key, unique within the task.
    pub key: Arc<str>,
    /// When it is due.
    pub due: Stamp,
}
