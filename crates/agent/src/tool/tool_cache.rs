//! The cache of the tools of agents.

use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::Toolbox;

/// The shared tools of agents.
///
/// Agents with equal tools share one toolbox, so a waiting agent keeps little memory.
#[derive(Clone, Debug)]
pub(crate) struct ToolCache(pub(crate) Arc<CachedTools>);

#[derive(Debug)]
pub(crate) struct CachedTools {
    /// The tools of agents that have every tool of their position, by dialect and
    /// position.
    pub(crate) whole: Box<[[OnceLock<PositionTools>; 4]]>,
    /// The tools of other agents, by shape.
    pub(crate) shaped: Mutex<HashMap<ToolShape, Arc<Toolbox>>>,
}

impl ToolCache {
    /// Creates an empty cache for this number of dialects.
    pub(crate) fn new(dialects: usize) -> Self {
        let whole = (0..dialects).map(|_| Default::default()).collect();
        Self(Arc::new(CachedTools { whole, shaped: Mutex::default() }))
    }
}

/// The difference between an agent's tools and all tools of its position.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ToolShape {
    pub(crate) position: usize,
    /// The position of the dialect among the registered ones.
    pub(crate) dialect: usize,
    /// The tools that the agent is not offered.
    pub(crate) lacks: Box<[Arc<str>]>,
    /// The profiles that the agent can choose from, as a text.
    pub(crate) profiles: Box<str>,
}

/// The tools of a position, and the system prompt of an agent without its own.
#[derive(Clone, Debug)]
pub(crate) struct PositionTools {
    pub(crate) tools: Arc<Toolbox>,
    pub(crate) system: Arc<str>,
}
