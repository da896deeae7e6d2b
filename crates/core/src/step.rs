//! The journal: the steps a task has committed.
//!
//! A journal holds what a body commits under keys of its choice, and what the
//! runtime commits for it. The runtime's keys begin with `:`; a body's key that
//! does so is stored with another `:` in front of it. So the two never meet,
//! and an ordinary key is stored as it is.

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

/// The key under which a step that a body calls `said` is stored.
pub fn step_key(said: &str) -> Arc<str> {
    if said.starts_with(':') { format!(":{said}").into() } else { said.into() }
}

/// The key under which a sleep that a body calls `said` is stored.
pub fn sleep_key(said: &str) -> Arc<str> {
    format!(":sleep:{said}").into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_6_no_key_of_a_body_is_one_of_the_runtimes() {
        let said = ["", "x", "sleep:x", ":", ":sleep:", ":sleep:x", "::sleep:x", "step:x"];
        let mut stored: Vec<_> = said.iter().map(|said| step_key(said)).collect();
        stored.extend(said.iter().map(|said| sleep_key(said)));
        stored.sort_unstable();
        stored.dedup();
        assert_eq!(stored.len(), 2 * said.len());
        assert_eq!(&*step_key("fetch"), "fetch");
    }
}
