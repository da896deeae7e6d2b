//! Tool maps: the tools of a dialect.

use std::fmt;
use std::sync::Arc;

use offshoot_core::Task;

use super::Tool;
use crate::dialect::{DialectName, UnknownDialect};
use crate::finish_alias::FinishAlias;
use crate::profile::Profile;

/// The tools that an agent has without a dialect.
#[derive(Clone, Debug, Default)]
pub struct OfferedTools {
    /// Tools that the application provides. A dialect never replaces them, but may
    /// offer one under another name.
    pub provided: Vec<Arc<dyn Tool>>,
    /// Built-in tools.
    pub built_in: Vec<Arc<dyn Tool>>,
    /// The profiles that the agent can choose from.
    pub profiles: Vec<Arc<Profile>>,
}

/// A dialect: the names of the built-in tools and of tasks in another system.
///
/// The methods have defaults for a dialect that changes nothing.
pub trait ToolMap: Send + Sync + fmt::Debug + 'static {
    /// The name of the dialect in profiles and briefs.
    fn name(&self) -> DialectName;

    /// The tools of an agent: the provided ones first.
    ///
    /// A tool that stands for another one returns that one's name from
    /// [`Tool::known_as`], so that permission rules for it apply.
    fn tools(&self, offered: OfferedTools) -> Vec<Arc<dyn Tool>> {
        offered.provided.into_iter().chain(offered.built_in).collect()
    }

    /// Replaces the names of built-in tools in a text for the model.
    fn reword(&self, text: &str) -> String {
        text.to_owned()
    }

    /// The id of a task, if the model does not call it by its handle or task id.
    fn task_id(&self, _task: &Task) -> Option<String> {
        None
    }

    /// The name of `finish` in the dialect, if it has one.
    fn finish_alias(&self) -> Option<&'static FinishAlias> {
        None
    }

    /// Whether the tools depend on the profiles that the agent can choose from.
    fn lists_profiles(&self) -> bool {
        false
    }
}

/// The built-in tools under their own names.
#[derive(Debug)]
struct NativeTools;

impl ToolMap for NativeTools {
    fn name(&self) -> DialectName {
        DialectName::OFFSHOOT
    }
}

/// The registered dialects. The first is the default one.
#[derive(Clone, Debug)]
pub(crate) struct Dialects(Vec<Arc<dyn ToolMap>>);

impl Default for Dialects {
    fn default() -> Self {
        Self(vec![Arc::new(NativeTools)])
    }
}

impl Dialects {
    /// Registers a dialect. A later one replaces an earlier one of the same name.
    pub(crate) fn register(&mut self, map: Arc<dyn ToolMap>) {
        match self.0.iter_mut().find(|other| other.name() == map.name()) {
            Some(other) => *other = map,
            None => self.0.push(map),
        }
    }

    /// The number of registered dialects.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The position of the dialect of this name.
    pub(crate) fn position(&self, name: &DialectName) -> Result<usize, UnknownDialect> {
        if name.is_default() {
            return Ok(0);
        }
        self.0.iter().position(|map| map.name() == *name).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|map| map.name().to_string()).collect();
            UnknownDialect { name: name.clone(), known: known.join(", ") }
        })
    }

    /// The dialect at this position, or the default one.
    pub(crate) fn at(&self, position: usize) -> &dyn ToolMap {
        self.0.get(position).map_or(&NativeTools, |map| &**map)
    }

    /// The dialect of this name, or the default one.
    ///
    /// An agent of an unknown dialect fails before it reads this.
    pub(crate) fn get(&self, name: &DialectName) -> &dyn ToolMap {
        self.at(self.position(name).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_dialect_is_an_error_that_lists_the_known_ones() {
        let dialects = Dialects::default();
        assert_eq!(dialects.position(&DialectName::default()), Ok(0));
        let error = dialects.position(&DialectName::from_static("klingon")).unwrap_err();
        assert_eq!(error.to_string(), "there is no dialect \"klingon\"; there are offshoot");
    }
}
