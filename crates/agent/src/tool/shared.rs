//! The state that all agents of a process share.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{SessionId, text};
use offshoot_models::{Gate, Model, Prices};

use super::{Dialects, Tool, ToolCache, ToolSource};
use offshoot_worktree::Worktrees;

use crate::brief::Brief;
use crate::budget::Reservations;
use crate::clock::Clocks;
use crate::delta::Deltas;
use crate::grants::StandingGrants;
use crate::model_source::{ModelSource, ModelUnavailable};
use crate::profile::{Profile, ProfileSource, ProfileUnavailable};

/// The limits of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most model answers of an agent.
    pub steps: u64,
    /// The time limit of an agent, if there is one.
    pub time: Option<Duration>,
    /// The most live children of an agent.
    pub children: usize,
    /// The most agents below a top-level agent, including ended ones.
    pub tree: u64,
    /// The most Unicode scalars of a task's result in a conversation.
    pub allowance: usize,
    /// The most Unicode scalars of a tool's output in a conversation.
    pub tool_result: usize,
    /// The timeout of tools that are not marked long-running.
    pub tool_span: Duration,
    /// The longest wait for an approval. After it the call is denied.
    pub approval: Duration,
    /// The number of tries for each model answer.
    pub tries: u32,
    /// The most turns in a row that results start. After them the agent waits for the end of
    /// all its tasks, or for a message.
    pub wakes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 200,
            time: None,
            children: 64,
            tree: 1_000,
            allowance: offshoot_core::DEFAULT_ALLOWANCE,
            tool_result: 16_000,
            tool_span: Duration::from_secs(600),
            approval: Duration::from_secs(24 * 60 * 60),
            tries: 6,
            wakes: 8,
        }
    }
}

/// The state that the loops and the tools of agents use.
#[derive(Clone, Debug)]
pub(crate) struct AgentShared {
    pub(crate) models: Arc<dyn ModelSource>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The sources of further tools.
    pub(crate) tool_sources: Vec<Arc<dyn ToolSource>>,
    /// The cached tools of agents.
    pub(crate) tool_cache: ToolCache,
    /// The dialects that agents can have.
    pub(crate) dialects: Dialects,
    pub(crate) limits: Limits,
    pub(crate) prices: Prices,
    pub(crate) deltas: Deltas,
    /// The source of profiles, if there is one.
    pub(crate) profiles: Option<Arc<dyn ProfileSource>>,
    /// The standing grants.
    pub(crate) grants: StandingGrants,
    /// The worktrees of isolated agents, if a directory is set.
    pub(crate) worktrees: Option<Worktrees>,
    /// The reservations of model calls in progress.
    pub(crate) reservations: Reservations,
    /// The clocks of agents with a time limit.
    pub(crate) clocks: Clocks,
}

impl AgentShared {
    /// The profile of this name for agents with this working directory.
    pub(crate) fn profile(
        &self,
        name: &str,
        folder: Option<&Path>,
    ) -> Result<Arc<Profile>, ProfileUnavailable> {
        match &self.profiles {
            Some(profiles) => profiles.find(name, folder),
            None => {
                let name = text::cut(name, 80).into_owned();
                Err(ProfileUnavailable::Unknown { name, known: "none".to_owned() })
            }
        }
    }

    /// The model of an agent of this session, and the gate before it.
    pub(crate) fn model(
        &self,
        brief: &Brief,
        session: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        match &brief.endpoint {
            Some(began) => self.models.find_at(&brief.model, session, began),
            None => self.models.find(&brief.model, session),
        }
    }
}
