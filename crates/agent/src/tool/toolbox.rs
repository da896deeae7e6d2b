//! The tools that an agent has.

use std::sync::Arc;

use offshoot_models::ToolSpec;

use super::Tool;

/// The tools that an agent has, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
}

impl Toolbox {
    /// These tools. Of two that have the same name the first stays: what a user
    /// brings is never replaced.
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

    /// These and one more.
    pub(crate) fn with(&self, tool: Arc<dyn Tool>) -> Self {
        self.extended([tool])
    }

    /// These and more.
    pub(crate) fn extended(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self::new(self.tools.iter().cloned().chain(tools))
    }

    /// How a model sees them.
    pub(crate) fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// The tool of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| &*tool.spec().name == name)
    }

    /// Their names, for a model that called one which is not there.
    pub(crate) fn names(&self) -> String {
        let names: Vec<_> = self.specs.iter().map(|spec| &*spec.name).collect();
        names.join(", ")
    }
}
