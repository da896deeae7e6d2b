//! The shared state of all agents of a process, and their kind of task.

mod backend;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Payload, PayloadError, TaskId};
use offshoot_models::{Gate, Model, Prices};
use offshoot_runtime::{Error, TaskRef, TaskRequest};
use offshoot_sandbox::Helper;
use offshoot_worktree::{OwnerState, Worktrees};
use serde_json::Value;

use crate::KIND;
use crate::brief::Brief;
use crate::budget::{BudgetPool, BudgetUsage, Reservations, UnknownPrice};
use crate::clock::Clocks;
use crate::delta::Deltas;
use crate::dialect::UnknownDialect;
use crate::grants::{GrantStore, StandingGrants};
use crate::model_source::{ModelSource, SingleModel};
use crate::profile::{ProfileError, ProfileSource};
use crate::tool::{AgentShared, Dialects, Limits, Tool, ToolCache, ToolMap, ToolSource};

pub use self::backend::AgentBackend;

/// The error for a brief that no agent can follow.
#[derive(Debug, thiserror::Error)]
pub enum BriefError {
    /// The brief cannot be encoded.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The dialect is not registered.
    #[error(transparent)]
    UnknownDialect(#[from] UnknownDialect),
    /// The brief limits money, and the price of its model is unknown.
    #[error(transparent)]
    UnknownPrice(#[from] UnknownPrice),
}

/// The shared state of all agents of a process. It is cheap to clone.
///
/// Register [`Agents::backend`] for [`KIND`] when a runtime opens, and spawn
/// [`Agents::request`]s.
#[derive(Clone, Debug)]
pub struct Agents(pub(crate) Arc<AgentShared>);

impl Agents {
    /// Creates agents that find their models in this source and have only built-in tools.
    pub fn new(models: impl ModelSource) -> Self {
        Self(Arc::new(AgentShared {
            models: Arc::new(models),
            tools: Vec::new(),
            tool_sources: Vec::new(),
            tool_cache: ToolCache::new(1),
            dialects: Dialects::default(),
            limits: Limits::default(),
            prices: Prices::default(),
            deltas: Deltas::default(),
            profiles: None,
            grants: StandingGrants::default(),
            worktrees: None,
            reservations: Reservations::default(),
            clocks: Clocks::default(),
        }))
    }

    /// Creates agents that all use this model.
    pub fn with_model(model: impl Model) -> Self {
        Self::new(SingleModel { model: Arc::new(model), gate: Gate::default() })
    }

    /// Adds a tool. Of two tools with the same name the first one stays.
    #[must_use]
    pub fn tool(self, tool: impl Tool) -> Self {
        self.change(|shared| {
            shared.tools.push(Arc::new(tool));
            shared.tool_cache = ToolCache::new(shared.dialects.count());
        })
    }

    /// Adds a source of tools. See [`ToolSource`].
    #[must_use]
    pub fn tool_source(self, source: impl ToolSource) -> Self {
        self.change(|shared| shared.tool_sources.push(Arc::new(source)))
    }

    /// Adds dialects. Of two dialects with the same name the last one stays.
    #[must_use]
    pub fn dialects(self, maps: impl IntoIterator<Item = Arc<dyn ToolMap>>) -> Self {
        self.change(|shared| {
            maps.into_iter().for_each(|map| shared.dialects.register(map));
            shared.tool_cache = ToolCache::new(shared.dialects.count());
        })
    }

    /// Sets the source of profiles.
    #[must_use]
    pub fn profiles(self, profiles: impl ProfileSource) -> Self {
        self.change(|shared| {
            shared.profiles = Some(Arc::new(profiles));
            shared.tool_cache = ToolCache::new(shared.dialects.count());
        })
    }

    /// Sets the store of standing grants. Without one, [`Decision::Always`](crate::Decision::Always)
    /// approves one call.
    #[must_use]
    pub fn grants(self, grants: impl GrantStore) -> Self {
        self.change(|shared| shared.grants = StandingGrants::new(grants))
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        self.change(|shared| shared.limits = limits)
    }

    /// Sets the prices of models.
    #[must_use]
    pub fn prices(self, prices: Prices) -> Self {
        self.change(|shared| shared.prices = prices)
    }

    /// Sets the directory for the worktrees of isolated agents.
    ///
    /// Without one, no agent can be isolated. The directory must be outside the
    /// repositories, and no other process may use it. It is created when it is first
    /// needed. The worktrees in it can contain unmerged work.
    #[must_use]
    pub fn worktrees(self, folder: impl Into<PathBuf>) -> Self {
        self.change(|shared| shared.worktrees = Some(Worktrees::at(folder.into())))
    }

    /// Sets the time limit of each git operation on a worktree: to find the repository,
    /// and to create, measure or remove the worktree.
    ///
    /// The default is [`GIT_LIMIT`](crate::GIT_LIMIT). An operation that takes longer is
    /// stopped, and the worktree is kept. Set the directory for worktrees first.
    #[must_use]
    pub fn git_limit(self, limit: Duration) -> Self {
        self.change(|shared| {
            shared.worktrees = shared.worktrees.take().map(|trees| trees.limited_to(limit));
        })
    }

    /// Confines git on worktrees where a repository can make it run programs, such as
    /// filters.
    ///
    /// Confined git cannot see these paths, and writes only to repositories and
    /// worktrees. Set the directory for worktrees first.
    #[must_use]
    pub fn confined(self, helper: Helper, hidden: Vec<PathBuf>) -> Self {
        self.change(|shared| {
            shared.worktrees = shared.worktrees.take().map(|trees| trees.confined(helper, hidden));
        })
    }

    fn change(self, change: impl FnOnce(&mut AgentShared)) -> Self {
        let mut shared = Arc::unwrap_or_clone(self.0);
        change(&mut shared);
        Self(Arc::new(shared))
    }

    /// Removes the worktrees of ended agents that contain no work, and returns their
    /// number. `state_of` returns the state of a task.
    ///
    /// Call it after recovery, and from time to time.
    pub async fn sweep_worktrees<F, S>(&self, state_of: F) -> std::io::Result<usize>
    where
        F: FnMut(TaskId) -> S,
        S: Future<Output = OwnerState>,
    {
        match &self.0.worktrees {
            Some(worktrees) => worktrees.sweep(state_of).await,
            None => Ok(0),
        }
    }

    /// The used part of an agent's own budget, if it has one. Reservations of calls in progress
    /// are not part of it. The time is known only while the agent runs here.
    pub async fn spent(&self, agent: &TaskRef) -> Result<Option<BudgetUsage>, Error> {
        let Ok(brief) = agent.spec().input.decode::<Brief>() else { return Ok(None) };
        if brief.budget.is_unlimited() {
            return Ok(None);
        }
        let mut usage = BudgetUsage::read(agent, *brief.budget, &self.0.reservations).await?;
        if let Some(clock) = self.0.clocks.of(agent.id()) {
            usage.time = clock.used();
        }
        Ok(Some(usage))
    }

    /// The backend that executes agents. Register it for [`KIND`].
    pub fn backend(&self) -> AgentBackend {
        AgentBackend::new(self.0.clone())
    }

    /// A request for an agent with this brief.
    ///
    /// The agent always calls the current address of its provider, unless the brief
    /// names another one. A limit on money needs a known price of the model.
    pub fn request(&self, brief: &Brief) -> Result<TaskRequest, BriefError> {
        if brief.budget.money.is_some() || brief.pools.iter().any(BudgetPool::limits_money) {
            let known = self.0.prices.of(&brief.model).is_some();
            known.then_some(()).ok_or_else(|| UnknownPrice { model: brief.model.clone() })?;
        }
        self.0.dialects.position(&brief.dialect)?;
        let now = || self.0.models.endpoint(&brief.model, None);
        let payload = match brief.endpoint.is_none().then(now).flatten() {
            Some(now) => Payload::encode(&brief.clone().endpoint(now))?,
            None => Payload::encode(brief)?,
        };
        Ok(TaskRequest::new(KIND, payload))
    }

    /// The same brief for an agent of the profile of this name.
    ///
    /// The profile is looked up from the brief's working directory. The call reads
    /// files and may block.
    pub fn brief_of(
        &self,
        profile: &str,
        config: Option<&Value>,
        brief: Brief,
    ) -> Result<Brief, ProfileError> {
        let profile = self.0.profile(profile, brief.folder.as_deref())?;
        let config_text = profile.configured(config)?;
        Ok(profile.applied_to(brief).with_system_text(config_text))
    }

    /// The names of the fixed tools of all agents, as rules name them.
    ///
    /// The tools of tool sources depend on the session and are not included.
    pub fn tools(&self) -> impl Iterator<Item = Arc<str>> + use<> {
        crate::control::known(&self.0)
    }

    /// The deltas of all running agents.
    pub fn deltas(&self) -> &Deltas {
        &self.0.deltas
    }
}
