//! Profiles of agents, and the trust in the directories that bring them.

use serde::{Deserialize, Serialize};

/// A named definition of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its origin: `built in`, `user` or `project`.
    pub origin: String,
    /// Its file, if it is not built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether the user trusts it. An untrusted profile can only narrow permissions.
    pub trusted: bool,
    /// Its model; without one, that of the agent or user that spawns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its permission mode: `plan`, `ask` or `auto`.
    pub mode: String,
    /// The tools that it offers; without a list, every tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Its rules for tools and commands, such as `ask run_command(cargo test)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The approver, if the profile names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// The budget of its agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Whether its agents work in worktrees of their own.
    pub worktree: bool,
    /// Its configuration, as a JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Value>,
    /// The profiles that its agents may spawn; without a list, every profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// The dialect of its tools.
    pub dialect: String,
    /// The instructions for its agents.
    pub prompt: String,
    /// Notes on the parts of it that have another effect than written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The profiles that a directory offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileList {
    /// The profiles.
    pub profiles: Vec<Profile>,
    /// The files that could not be read, each with the reason.
    pub broken: Vec<String>,
    /// The trust in the directory.
    pub trust: DirTrust,
}

/// The trust in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirTrust {
    /// The directory.
    pub folder: String,
    /// Whether the user trusts the directory, and its contents are still the same.
    pub trusted: bool,
}

/// A change of the trust in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustChange {
    /// Trust it with its current contents.
    Trust,
    /// Trust it no longer.
    Remove,
}
