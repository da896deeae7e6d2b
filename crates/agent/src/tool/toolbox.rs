//! Toolboxes: the tools of one agent.

use std::sync::Arc;

use offshoot_models::ToolSpec;

use super::Tool;

/// The tools of an agent, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
}

impl Toolbox {
    /// Creates a toolbox of these tools.
    ///
    /// Of two tools with the same name the first one stays, so a provided tool is never
    /// replaced.
    pub(crate) fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut kept: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in tools {
            if !kept.iter().any(|other| other.spec().name == tool.spec().name) {
                kept.push(tool);
            }
        }
        let specs = kept.iter().map(|tool| tool.spec().clone()).collect();
        Self { tools: kept, specs }
    }

    /// The same toolbox with one more tool.
    pub(crate) fn with(&self, tool: Arc<dyn Tool>) -> Self {
        self.extended([tool])
    }

    /// The same toolbox with more tools.
    pub(crate) fn extended(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self::new(self.tools.iter().cloned().chain(tools))
    }

    /// The descriptions of the tools for a model.
    pub(crate) fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// The tool of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| &*tool.spec().name == name)
    }

    /// The names of the tools, for a model that called an unknown one.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self.specs.iter().map(|spec| &*spec.name).collect();
        names.join(", ")
    }
}
