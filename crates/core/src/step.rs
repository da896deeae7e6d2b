//! The journal of a task: committed steps and timers.
//!
//! A journal contains the steps that a body commits under keys of its choice, and entries
//! of the runtime. Keys of the runtime begin with `:`. A body's key that begins with `:` is
//! stored with another `:` in front of it, so the two cannot collide.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::payload::Payload;
use crate::time::Stamp;

/// A step of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The task.
    pub task: TaskId,
    /// Its key, unique within the task.
    pub key: Arc<str>,
    /// Its state.
    pub state: StepState,
}

/// The stored key of the step that a body calls `name`.
pub fn step_key(name: &str) -> Arc<str> {
    if name.starts_with(':') { format!(":{name}").into() } else { name.into() }
}

/// The stored key of the sleep that a body calls `name`.
pub fn sleep_key(name: &str) -> Arc<str> {
    format!(":sleep:{name}").into()
}

/// The state of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// The step began. Its result is unknown.
    Started,
    /// The step has this value and is not executed again.
    Committed(Payload),
}

/// A moment that a task waits for. Its due time is on the wall clock and survives restarts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// The task.
    pub task: TaskId,
    /// Its key, unique within the task.
    pub key: Arc<str>,
    /// When it is due.
    pub due: Stamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_6_no_key_of_a_body_is_one_of_the_runtimes() {
        let name = ["", "x", "sleep:x", ":", ":sleep:", ":sleep:x", "::sleep:x", "step:x"];
        let mut stored: Vec<_> = name.iter().map(|name| step_key(name)).collect();
        stored.extend(name.iter().map(|name| sleep_key(name)));
        stored.sort_unstable();
        stored.dedup();
        assert_eq!(stored.len(), 2 * name.len());
        assert_eq!(&*step_key("fetch"), "fetch");
    }
}
