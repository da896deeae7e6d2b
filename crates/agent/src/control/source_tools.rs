//! The tools of an agent that come from tool sources.

use std::sync::Arc;

use offshoot_core::SessionId;

use super::offers;
use crate::brief::Brief;
use crate::built_in_tools;
use crate::tool::AgentShared;
use crate::tool::{Tool, Toolbox};

/// The tools of one agent's sources, as last read.
#[derive(Debug)]
pub(crate) struct SourceTools {
    /// The tools that never change.
    fixed: Arc<Toolbox>,
    /// The tools of each source.
    latest: Vec<Arc<[Arc<dyn Tool>]>>,
}

impl SourceTools {
    /// Starts with these fixed tools only. Returns `None` if there are no sources.
    pub(crate) fn new(shared: &AgentShared, fixed: &Arc<Toolbox>) -> Option<Box<Self>> {
        let fixed = || Self { fixed: fixed.clone(), latest: Vec::new() };
        (!shared.tool_sources.is_empty()).then(|| Box::new(fixed()))
    }

    /// Reads the sources. Returns all tools of the agent, if they have changed.
    pub(crate) fn refresh(
        &mut self,
        shared: &AgentShared,
        brief: &Brief,
        session: SessionId,
    ) -> Option<Arc<Toolbox>> {
        let latest: Vec<_> =
            shared.tool_sources.iter().map(|source| source.tools(session)).collect();
        let is_same = latest.len() == self.latest.len()
            && latest.iter().zip(&self.latest).all(|(now, before)| Arc::ptr_eq(now, before));
        if is_same {
            return None;
        }
        self.latest = latest;
        let is_free = |name: &str| built_in_tools::find(name).is_none();
        let offered = |tool: &&Arc<dyn Tool>| {
            is_free(&tool.spec().name)
                && is_free(tool.known_as())
                && offers(shared, brief, tool.known_as())
        };
        let tools = self.latest.iter().flat_map(|tools| tools.iter()).filter(offered);
        Some(Arc::new(self.fixed.extended(tools.cloned())))
    }
}

/// The names of the tools that the sources have for a session.
pub(super) fn names(
    shared: &AgentShared,
    session: SessionId,
) -> impl Iterator<Item = Arc<str>> + use<> {
    let tools = shared.tool_sources.iter().map(|source| source.tools(session));
    let names = tools.flat_map(|tools| {
        tools.iter().map(|tool| Arc::from(tool.known_as())).collect::<Vec<Arc<str>>>()
    });
    names.collect::<Vec<_>>().into_iter()
}
