//! The access of a tool call, judged before the call runs.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::line::LineAnalysis;
use super::policy::Rule;

/// The access of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The name of the called tool.
    pub tool: Arc<str>,
    /// The action of the call.
    pub action: Action,
    /// Why the call needs an approval even if rules allow it.
    pub guarded: Option<Arc<str>>,
    /// The rule that a standing grant for this access would add, if a standing grant is
    /// possible. The access itself matches the rule.
    pub lasting: Option<Rule>,
    /// The paths in the call, if a standing grant covers it only inside a directory.
    pub paths: Option<NamedPaths>,
    /// Facts for the approver, each a clause.
    pub notes: Vec<Arc<str>>,
    /// Commands that the call implies beyond its line, each as its words: a write into a
    /// file that an argument names. Deny and ask rules see them, allow rules do not.
    pub implied: Vec<Vec<String>>,
}

/// The paths that a call names or may name. A standing grant covers the call only if none
/// of them leads outside the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPaths {
    /// The real path of the directory.
    pub directory: PathBuf,
    /// The paths, relative to the directory.
    pub paths: Vec<String>,
}

/// The action of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Reads, and changes nothing.
    #[serde(rename = "look")]
    Read,
    /// Spawns, messages or cancels tasks of the agent, which have no more permissions than
    /// the agent.
    #[serde(rename = "manage")]
    ManageTasks,
    /// Changes something.
    Change,
    /// Runs this command line.
    Run(LineAnalysis),
    /// Sends a request over the network.
    #[serde(rename = "reach")]
    Network,
}

impl Action {
    /// Whether the action does more than read or manage the agent's own tasks.
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Read | Self::ManageTasks)
    }
}

impl Access {
    /// The access of a call of `tool` that does `action`.
    pub fn new(tool: &str, action: Action) -> Self {
        Self {
            tool: tool.into(),
            action,
            guarded: None,
            lasting: None,
            paths: None,
            notes: Vec::new(),
            implied: Vec::new(),
        }
    }

    /// Requires an approval, for this reason.
    #[must_use]
    pub fn guarded(mut self, why: &str) -> Self {
        self.guarded = Some(why.into());
        self
    }

    /// Allows a standing grant, which adds this rule.
    #[must_use]
    pub fn lasting(mut self, rule: Rule) -> Self {
        self.lasting = Some(rule);
        self
    }

    /// Sets the paths that the call names. See [`NamedPaths`].
    #[must_use]
    pub fn naming(mut self, paths: NamedPaths) -> Self {
        self.paths = Some(paths);
        self
    }

    /// Adds commands that the call implies. See [`Access::implied`].
    #[must_use]
    pub fn implying(mut self, commands: impl IntoIterator<Item = Vec<String>>) -> Self {
        self.implied.extend(commands);
        self
    }

    /// Adds a fact for the approver.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        self.notes.push(note.into());
        self
    }
}
