//! Briefs: the work of an agent, fixed when it is spawned.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::permissions::Permissions;
use offshoot_core::{BoxedDefault, Task, TaskId};
use offshoot_models::{Endpoint, ModelName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::{Budget, BudgetPool};
use crate::dialect::DialectName;
use crate::notice::envelope;

/// The work of an agent.
///
/// A brief is stored with its task, so each attempt follows the same brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The task, as a text for the model.
    pub task: String,
    /// The model.
    pub model: ModelName,
    /// The provider address. The agent always calls the address it started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Whether it works in that directory or in its own worktree.
    #[serde(default, skip_serializing_if = "Isolation::is_none")]
    pub isolation: Isolation,
    /// The first commit of its worktree. The default is the commit that is checked out in
    /// the working directory when the agent starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The part of its owner's conversation that it knows.
    #[serde(default)]
    pub context: BriefContext,
    /// The JSON Schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_schema: Option<Box<Value>>,
    /// The profile of the agent, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Box<str>>,
    /// The profiles that it may spawn. The default is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Box<[String]>>,
    /// Its permissions, if they are limited. Its children never have more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<Arc<Permissions>>,
    /// The tool set that it has.
    #[serde(default, skip_serializing_if = "DialectName::is_default")]
    pub dialect: DialectName,
    /// The most answers of its model. The default is [`Limits::steps`](crate::Limits::steps).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Its time limit from its start, including its waits. The default is
    /// [`Limits::time`](crate::Limits::time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
    /// The budget of the agent and its descendants.
    #[serde(default, skip_serializing_if = "BoxedDefault::is_default")]
    pub budget: BoxedDefault<Budget>,
    /// The budget pools of its ancestors, on which it also draws. The runtime sets them
    /// when an agent spawns another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<BudgetPool>,
}

/// The part of its owner's conversation that an agent knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BriefContext {
    /// Nothing.
    #[default]
    Fresh,
    /// A range of its blocks.
    Fork {
        /// The first block of the range; 0 for the whole conversation.
        #[serde(default)]
        from: u64,
        /// The block before which the range ends.
        blocks: u64,
    },
}

/// The isolation of an agent's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// The agent works in its working directory itself.
    #[default]
    None,
    /// The agent works in its own git worktree, at the same path within it.
    ///
    /// Changes that are not committed are not in the worktree. When the agent ends, a
    /// worktree without changes or commits is removed. Otherwise it is kept, and the
    /// agent's report names it.
    Worktree,
}

impl Isolation {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl Brief {
    /// The pools on which an agent of this brief draws: its own first.
    pub(crate) fn pools_of(&self, agent: TaskId) -> Vec<BudgetPool> {
        let limits = *self.budget;
        let own = (!limits.is_unlimited()).then_some(BudgetPool { task: agent, limits });
        own.into_iter().chain(self.pools.iter().copied()).collect()
    }

    /// The brief of a task, if the task is an agent.
    pub fn of(task: &Task) -> Option<Self> {
        let is_agent = &*task.spec.kind == crate::KIND;
        is_agent.then(|| task.spec.input.decode().ok()).flatten()
    }

    /// Creates a brief for this model and this task.
    pub fn new(model: ModelName, task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            model,
            endpoint: None,
            system: String::new(),
            folder: None,
            isolation: Isolation::None,
            base: None,
            context: BriefContext::Fresh,
            result_schema: None,
            profile: None,
            agents: None,
            authority: None,
            dialect: DialectName::OFFSHOOT,
            steps: None,
            time: None,
            budget: BoxedDefault::default(),
            pools: Vec::new(),
        }
    }

    /// Sets the provider address. The agent always calls this address.
    #[must_use]
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    /// Sets the system prompt.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// Adds the text of a project's file to the system prompt.
    ///
    /// The text is labelled as the project's, because it does not come from the person.
    #[must_use]
    pub fn project(self, file: &Path, text: &str) -> Self {
        let file = file.to_string_lossy();
        self.with_system_text(Some(envelope("project", &[("file", &file)], text)))
    }

    /// Appends this text to the system prompt.
    pub(crate) fn with_system_text(mut self, more: Option<String>) -> Self {
        if let Some(more) = more {
            if !self.system.is_empty() {
                self.system.push('\n');
            }
            self.system.push_str(&more);
        }
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the isolation.
    ///
    /// [`Agents::worktrees`](crate::Agents::worktrees) sets the directory for worktrees.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Sets the JSON Schema of the result.
    #[must_use]
    pub fn result_schema(mut self, schema: Value) -> Self {
        self.result_schema = Some(Box::new(schema));
        self
    }

    /// Sets the permissions.
    #[must_use]
    pub fn authority(mut self, authority: Permissions) -> Self {
        self.authority = Some(Arc::new(authority));
        self
    }

    /// Sets the tool set that it has.
    #[must_use]
    pub fn dialect(mut self, dialect: impl Into<DialectName>) -> Self {
        self.dialect = dialect.into();
        self
    }

    /// Sets the most answers of the model.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = Some(steps);
        self
    }

    /// Sets the time limit. At the limit the model gives its last words, and the agent
    /// ends.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Sets the budget of the agent and its descendants. An agent that has used it gives its
    /// last words and ends.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget.into();
        self
    }
}
