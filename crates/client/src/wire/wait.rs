//! Waiting for tasks.

use serde::{Deserialize, Serialize};

use super::Sealed;

/// Which tasks to wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTasks {
    /// The session in which their handles mean something.
    pub session: String,
    /// The tasks.
    pub tasks: Vec<String>,
    /// For how many of them.
    pub mode: WaitMode,
    /// How long at the most.
    pub timeout_ms: Option<u64>,
    /// The caller's keys and addresses, never stored. Agents that are waited
    /// for get those that they lack, so that they go on after a daemon died.
    #[serde(default, skip_serializing_if = "Sealed::is_empty")]
    pub keys: Sealed,
    /// What is done if one of them lacks something even with these.
    #[serde(default)]
    pub on_missing: OnMissing,
    /// The reaction when one of them asks for an approval.
    #[serde(default)]
    pub on_approval: OnApproval,
}

/// The reaction of a wait when a task asks for an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnApproval {
    /// It returns, as for any question.
    #[default]
    Return,
    /// It goes on: whoever waits looks after that, too.
    Wait,
}

/// What a wait does if a task lacks what it needs to go on, such as a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnMissing {
    /// It waits until somebody brings that.
    #[default]
    Wait,
    /// It returns at once with those that do, so that whoever waits is told.
    Return,
}

/// For how many tasks to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitMode {
    /// All of them.
    #[default]
    All,
    /// The first that ends or asks.
    Any,
}
