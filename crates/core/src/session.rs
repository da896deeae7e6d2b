//! The record of a session.

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::id::{RunId, SessionId, TaskId};
use crate::lineage::{Owner, Space};
use crate::name::Name;
use crate::task::Task;
use crate::time::Stamp;

/// A conversation: it owns a history, an inbox, and the tasks spawned from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The tenant.
    pub space: Space,
    /// Its name, unique in its space.
    pub name: Name,
    /// How often the record has changed; 1 when it is opened.
    pub seq: u64,
    /// When it was opened.
    pub opened_at: Stamp,
    /// The cancels that have not reached all their tasks yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
}

/// A cancel of several of a session's tasks, durable before the first of them
/// is touched, so that a crash cannot lose it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Who asked, and why.
    pub cancel: Cancel,
    /// Which tasks.
    pub reach: Reach,
}

/// Which tasks of a session a sweep reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// All of them, detached ones too.
    Everything,
    /// Those spawned in a run, and theirs.
    Run(RunId),
    /// The children of a task, and theirs.
    ChildrenOf(TaskId),
    /// What the session owns itself, and theirs; detached ones stay.
    TopLevel,
}

impl Session {
    /// The record of a session that was just opened.
    pub fn new(id: SessionId, space: Space, name: Name, at: Stamp) -> Self {
        Self { id, space, name, seq: 1, opened_at: at, sweeps: Vec::new() }
    }

    /// The sweep that forbids new tasks under this session, if there is one.
    pub fn closing(&self) -> Option<&Sweep> {
        self.sweeps.iter().find(|sweep| matches!(sweep.reach, Reach::Everything | Reach::TopLevel))
    }
}

impl Reach {
    /// Whether `task` is one of the tasks from which the sweep goes down.
    pub fn starts_at(&self, task: &Task) -> bool {
        use crate::task::Tie;
        let spec = &task.spec;
        match self {
            Self::Everything => matches!(spec.owner(), Owner::Session(_)),
            Self::TopLevel => spec.lineage.parent.is_none() && spec.tie == Tie::Owned,
            Self::Run(run) => spec.lineage.origin.run == Some(*run) && spec.tie == Tie::Owned,
            Self::ChildrenOf(parent) => {
                spec.lineage.parent == Some(*parent) && spec.tie == Tie::Owned
            }
        }
    }
}
