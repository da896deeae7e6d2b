//! Something for an agent to do.

use serde::{Deserialize, Serialize};

use super::Sealed;

/// Something for an agent to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// In which session.
    pub talk: RunSession,
    /// What to do, in words.
    pub task: String,
    /// The model that does it.
    pub model: Option<String>,
    /// The model of a new agent if nobody says; without one it is the first
    /// whose key is there.
    #[serde(default)]
    pub usual: Option<String>,
    /// The folder in which it works.
    pub folder: String,
    /// The profile of which a new agent is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How freely it acts: `plan`, `ask` or `auto`; `ask` if nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What it and all below it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// The approver of the run.
    #[serde(default)]
    pub approver: RunApprover,
    /// Whether it may ask for pages of the public network.
    #[serde(default)]
    pub network: Network,
    /// The caller's keys and addresses, never stored.
    pub keys: Sealed,
    /// Variables that the caller passes to commands, although they may hold
    /// credentials. Their names are stored, their values never.
    #[serde(default, skip_serializing_if = "Sealed::is_empty")]
    pub pass_env: Sealed,
    /// Makes the request repeatable.
    pub key: String,
}

/// The approver of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunApprover {
    /// A person, here or elsewhere.
    Person,
    /// Nobody: what would have to be asked for is denied.
    #[default]
    None,
}

/// What of the network agents reach by themselves, beside their models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing.
    #[default]
    Closed,
    /// Public pages.
    Pages,
}

/// In which session an agent is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSession {
    /// In a new one.
    New,
    /// In the one of this name, which is opened if it is new.
    In(String),
    /// In the one in which an agent was asked last.
    Latest,
}
