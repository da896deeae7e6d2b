//! What all agents of a process share, and how they become a kind of task.

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
    /// It cannot be encoded.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// Its dialect is not registered.
    #[error(transparent)]
    UnknownDialect(#[from] UnknownDialect),
    /// It limits money, and the price of its model is not known.
    #[error(transparent)]
    UnknownPrice(#[from] UnknownPrice),
}

/// What all agents of a process share. Cheap to clone.
///
/// Register [`Agents::backend`] for [`KIND`] when a runtime opens, and spawn
/// [`Agents::request`]s.
#[derive(Clone, Debug)]
pub struct Agents(pub(crate) Arc<AgentShared>);

impl Agents {
    /// Agents that find their models here, without tools of their own yet.
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

    /// Agents that all have this model.
    pub fn with_model(model: impl Model) -> Self {
        Self::new(SingleModel { model: Arc::new(model), gate: Gate::default() })
    }

    /// With this tool, too. Of two that have the same name the first stays.
    #[must_use]
    pub fn tool(self, tool: impl Tool) -> Self {
        self.change(|shared| {
            shared.tools.push(Arc::new(tool));
            shared.tool_cache = ToolCache::new(shared.dialects.count());
        })
    }

    /// With the tools of this source, too. See [`ToolSource`].
    #[must_use]
    pub fn tool_source(self, source: impl ToolSource) -> Self {
        self.change(|shared| shared.tool_sources.push(Arc::new(source)))
    }

    /// With these dialects. Of two that have the same name the last stays.
    #[must_use]
    pub fn dialects(self, maps: impl IntoIterator<Item = Arc<dyn ToolMap>>) -> Self {
        self.change(|shared| {
            maps.into_iter().for_each(|map| shared.dialects.register(map));
            shared.tool_cache = ToolCache::new(shared.dialects.count());
        })
    }

    /// With these profiles to choose from.
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

    /// With these limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        self.change(|shared| shared.limits = limits)
    }

    /// With these prices.
    #[must_use]
    pub fn prices(self, prices: Prices) -> Self {
        self.change(|shared| shared.prices = prices)
    }

    /// With this folder for the worktrees of agents that are isolated; without
    /// one, nobody can be. It must be outside the repositories, and no other
    /// process may use it. It is made when it is needed; what is kept in it is
    /// somebody's work.
    #[must_use]
    pub fn worktrees(self, folder: impl Into<PathBuf>) -> Self {
        self.change(|shared| shared.worktrees = Some(Worktrees::at(folder.into())))
    }

    /// With this time limit for each operation of git on a worktree: to find the
    /// repository, to make, to measure, to remove. [`GIT_LIMIT`](crate::GIT_LIMIT)
    /// unless set. An operation that takes longer is stopped, and the worktree is kept.
    /// Set the directory for worktrees before.
    #[must_use]
    pub fn git_limit(self, limit: Duration) -> Self {
        self.change(|shared| {
            shared.worktrees = shared.worktrees.take().map(|trees| trees.limited_to(limit));
        })
    }

    /// Confines the git of worktrees where it may run programs that others chose,
    /// such as filters: it sees nothing of these paths, and writes to repositories
    /// and worktrees alone. Say the worktrees' folder before.
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

    /// Removes the worktrees of ended agents where nothing would be lost, and returns how many.
    /// `state_of` returns the state of a task.
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

    /// What executes agents, to be registered for [`KIND`].
    pub fn backend(&self) -> AgentBackend {
        AgentBackend::new(self.0.clone())
    }

    /// A request for an agent that does this. It keeps to the address where its
    /// provider is now, unless the brief says another. A limit on money is refused
    /// where nobody knows what its model costs.
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

    /// The same brief for an agent of the profile of this name, which is looked for
    /// from the brief's folder. It reads files, and so may block.
    pub fn brief_of(
        &self,
        profile: &str,
        config: Option<&Value>,
        brief: Brief,
    ) -> Result<Brief, ProfileError> {
        let profile = self.0.profile(profile, brief.folder.as_deref())?;
        let told = profile.configured(config)?;
        Ok(profile.applied_to(brief).told(told))
    }

    /// The names of the tools that all agents can have, as rules name them: not those of
    /// tool sources, which depend on the session.
    pub fn tools(&self) -> impl Iterator<Item = Arc<str>> + use<> {
        crate::control::known(&self.0)
    }

    /// What agents say at the moment.
    pub fn deltas(&self) -> &Deltas {
        &self.0.deltas
    }
}
