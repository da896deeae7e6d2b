//! Profiles of agents, and whether the folder that brings them is trusted.

use serde::{Deserialize, Serialize};

/// A named definition of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it comes from: `built in`, `user` or `project`.
    pub origin: String,
    /// The file it is in, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether a person stands behind it. Else it only narrows.
    pub trusted: bool,
    /// Its model, if not that of whoever sends it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How freely it acts: `plan`, `ask` or `auto`.
    pub mode: String,
    /// The tools that it offers; all if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What it says of tools and commands in particular, such as
    /// `ask run_command(cargo test)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The approver, if the profile names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// What its agents may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Whether its agents work in worktrees of their own.
    pub worktree: bool,
    /// What it can be configured with, as a JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Value>,
    /// The profiles of agents that its agents may send off; any if it does not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// How tools are called to them.
    pub dialect: String,
    /// How its agents shall behave.
    pub prompt: String,
    /// What of it does not count as it is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The profiles that can be chosen in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileList {
    /// Each of them.
    pub profiles: Vec<Profile>,
    /// What could not be read, and why.
    pub broken: Vec<String>,
    /// Whether what the folder brings may do more than narrow.
    pub trust: DirTrust,
}

/// Whether a folder is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirTrust {
    /// The folder.
    pub folder: String,
    /// Whether a person has said so, and it still brings what it did then.
    pub trusted: bool,
}

/// What is said of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustChange {
    /// It is trusted with what it brings now.
    Trust,
    /// It is trusted no more.
    Remove,
}
