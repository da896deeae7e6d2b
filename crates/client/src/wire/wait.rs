//! Waiting for tasks.

use serde::{Deserialize, Serialize};

use super::Sealed;

/// A request to wait for tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTasks {
    /// The session of their handles.
    pub session: String,
    /// The tasks.
    pub tasks: Vec<String>,
    /// Whether to wait for all of them.
    pub mode: WaitMode,
    /// The timeout.
    pub timeout_ms: Option<u64>,
    /// The caller's keys and addresses, never stored. The agents among the tasks get
    /// those that they lack, so that they go on after a daemon died.
    #[serde(default, skip_serializing_if = "Sealed::is_empty")]
    pub keys: Sealed,
    /// What to do if a task lacks something even with these keys.
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
    /// It goes on: the caller answers approval requests elsewhere.
    Wait,
}

/// What a wait does if a task lacks what it needs to go on, such as a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnMissing {
    /// It waits until a client brings it.
    #[default]
    Wait,
    /// It returns at once with the tasks that lack something.
    Return,
}

/// Whether to wait for all tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitMode {
    /// All of them.
    #[default]
    All,
    /// The first task that ends or asks.
    Any,
}
