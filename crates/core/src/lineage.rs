//! The origin of a task: its space, session, parent and origin.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::boxed_default::{BoxedDefault, ConstDefault};
use crate::id::{RunId, SessionId, TaskId};

/// The tenant: the first part of every unique key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Arc<str>", from = "Arc<str>")]
// `None` is the default space: nearly all tasks have it, so it is not reference-counted.
pub struct Space(Option<Arc<str>>);

/// The name of the space that exists without configuration.
const DEFAULT_SPACE: &str = "default";

impl Space {
    /// The space called `name`.
    pub fn new(name: &str) -> Self {
        Self((name != DEFAULT_SPACE).then(|| name.into()))
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or(DEFAULT_SPACE)
    }
}

impl PartialOrd for Space {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Space {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl From<Arc<str>> for Space {
    fn from(name: Arc<str>) -> Self {
        if *name == *DEFAULT_SPACE { Self::default() } else { Self(Some(name)) }
    }
}

impl From<Space> for Arc<str> {
    fn from(space: Space) -> Self {
        space.0.unwrap_or_else(|| DEFAULT_SPACE.into())
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// The owner of a task: its parent task or its session. The owner receives the task's
/// result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The session that spawned the task, or that took it over.
    Session(SessionId),
    /// The task that spawned the task.
    Task(TaskId),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => write!(f, "session {id}"),
            Self::Task(id) => write!(f, "task {id}"),
        }
    }
}

/// The origin of a task, recorded at its spawn and never changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The tenant.
    pub space: Space,
    /// The conversation that the task belongs to.
    pub session: SessionId,
    /// The task that spawned it, if it was spawned by a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The top of its tree; the task itself if it has no parent.
    pub root: TaskId,
    /// The number of tasks above it.
    pub depth: u32,
    /// The run, tool call and agent that spawned it.
    #[serde(flatten)]
    pub origin: BoxedDefault<SpawnOrigin>,
}

/// The run, tool call and agent that spawned a task. A spawn fills missing parts from its
/// surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnOrigin {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The tool call's id, in the provider's spelling. A blank one counts as missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<Arc<str>>,
    /// The agent's name. A blank one counts as missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
}

impl ConstDefault for SpawnOrigin {
    const DEFAULT: &'static Self = &Self { run: None, tool_call: None, agent: None };
}

impl SpawnOrigin {
    /// Fills the missing parts from `ambient`. Explicit values win, and blank strings are
    /// not inherited.
    pub fn or(self, ambient: &SpawnOrigin) -> SpawnOrigin {
        SpawnOrigin {
            run: self.run.or(ambient.run),
            tool_call: spoken(self.tool_call).or_else(|| spoken(ambient.tool_call.clone())),
            agent: spoken(self.agent).or_else(|| spoken(ambient.agent.clone())),
        }
    }
}

fn spoken(text: Option<Arc<str>>) -> Option<Arc<str>> {
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_6_explicit_values_win_and_blanks_are_not_inherited() {
        let ambient =
            SpawnOrigin { run: None, tool_call: Some("call-1".into()), agent: Some("  ".into()) };
        let explicit = SpawnOrigin { run: None, tool_call: Some(" ".into()), agent: None };
        let origin = explicit.or(&ambient);
        assert_eq!(origin.tool_call.as_deref(), Some("call-1"));
        assert_eq!(origin.agent, None);
        let explicit = SpawnOrigin { tool_call: Some("call-2".into()), ..SpawnOrigin::default() };
        assert_eq!(explicit.or(&ambient).tool_call.as_deref(), Some("call-2"));
    }
}
