//! Running an agent.

use serde::{Deserialize, Serialize};

use super::Sealed;

/// A request to run an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The session of the agent.
    pub talk: RunSession,
    /// The task of the agent, in words.
    pub task: String,
    /// The model of the agent.
    pub model: Option<String>,
    /// The default model of a new agent. Without it the agent gets the first model for
    /// which there is a key.
    #[serde(default)]
    pub usual: Option<String>,
    /// The working directory of the agent.
    pub folder: String,
    /// The profile of a new agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The permission mode: `plan`, `ask` (the default) or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The budget of the agent and of all agents below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// The approver of the run.
    #[serde(default)]
    pub approver: RunApprover,
    /// The network that the agent reaches.
    #[serde(default)]
    pub network: Network,
    /// The caller's keys and addresses, never stored.
    pub keys: Sealed,
    /// Variables that the caller passes to commands, although they may hold credentials.
    /// The daemon stores their names, and never their values.
    #[serde(default, skip_serializing_if = "Sealed::is_empty")]
    pub pass_env: Sealed,
    /// Makes the request repeatable.
    pub key: String,
}

/// The approver of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunApprover {
    /// A person, at this terminal or another one.
    Person,
    /// No approver: a call that needs an approval is denied.
    #[default]
    None,
}

/// The network that agents reach by themselves, besides their models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No network.
    #[default]
    Closed,
    /// Public pages.
    Pages,
}

/// The session of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSession {
    /// A new session.
    New,
    /// The session of this name, opened if it is new.
    In(String),
    /// The session in which a person last ran an agent.
    Latest,
}
