//! The record of a session, and the rules for its removal.

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::id::{RunId, SessionId, SweepId, TaskId};
use crate::lineage::{Owner, Space};
use crate::name::Name;
use crate::task::Task;
use crate::time::Stamp;

/// A conversation. It owns a history, an inbox and the tasks spawned from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// The tenant.
    pub space: Space,
    /// Its name, unique in its space.
    pub name: Name,
    /// The number of changes of the record; 1 when the session is opened.
    pub seq: u64,
    /// When it was opened.
    pub opened_at: Stamp,
    /// The cancels that have not reached all their tasks yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// When its removal began, if it is being removed. Such a session accepts nothing new
    /// and is hidden from lookups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removing: Option<Stamp>,
}

/// The error for removing a session that has live tasks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session {:?} has {}", .name.as_str(), live_tasks_text(*.live))]
pub struct SessionBusy {
    /// The session's name.
    pub name: Name,
    /// The number of its live tasks.
    pub live: u64,
}

/// A cancel of several tasks of a session. It is stored before the first task is cancelled,
/// so that a crash cannot lose it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Tells this sweep from an equal one that begins at the same moment. None in records
    /// of versions without ids of sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<SweepId>,
    /// The canceller and the reason.
    pub cancel: Cancel,
    /// The cancelled tasks.
    pub reach: SweepScope,
}

/// The tasks of a session that a sweep cancels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepScope {
    /// All tasks, including detached ones.
    Everything,
    /// The tasks spawned in this run, and their descendants.
    Run(RunId),
    /// The children of this task, and their descendants.
    ChildrenOf(TaskId),
    /// The tasks that the session owns, and their descendants. Detached tasks are not
    /// cancelled.
    TopLevel,
}

impl SessionRecord {
    /// The record of a session that was just opened.
    pub fn new(id: SessionId, space: Space, name: Name, at: Stamp) -> Self {
        Self { id, space, name, seq: 1, opened_at: at, sweeps: Vec::new(), removing: None }
    }

    /// Whether tasks can be spawned in the session: it is not being removed, and no sweep
    /// cancels all its tasks.
    pub fn takes_tasks(&self) -> bool {
        let forbids =
            |sweep: &Sweep| matches!(sweep.reach, SweepScope::Everything | SweepScope::TopLevel);
        !self.is_removing() && !self.sweeps.iter().any(forbids)
    }

    /// Whether the session is being removed and hidden from lookups.
    pub fn is_removing(&self) -> bool {
        self.removing.is_some()
    }

    /// The record that begins the session's removal, if none of its tasks is live; `live`
    /// is their number.
    ///
    /// From then on the session takes no tasks, so their number stays zero and unfinished
    /// sweeps can be dropped.
    pub fn remove(&self, live: u64, at: Stamp) -> Result<Self, SessionBusy> {
        if live > 0 {
            return Err(SessionBusy { name: self.name.clone(), live });
        }
        let (sweeps, removing) = (Vec::new(), self.removing.or(Some(at)));
        Ok(Self { seq: self.seq + 1, sweeps, removing, ..self.clone() })
    }
}

impl SweepScope {
    /// Whether the sweep starts at `task` and continues with its descendants.
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

fn live_tasks_text(live: u64) -> String {
    match live {
        1 => "1 live task: cancel it first, or wait for it".to_owned(),
        _ => format!("{live} live tasks: cancel them first, or wait for them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::{Canceller, DEFAULT_GRACE};

    fn session() -> SessionRecord {
        let at = Stamp::from_millis(1);
        SessionRecord::new(SessionId::mint(at, 7), Space::default(), Name::new("main").unwrap(), at)
    }

    #[test]
    fn a_session_with_live_tasks_is_not_removed() {
        let busy = |live| session().remove(live, Stamp::from_millis(2)).unwrap_err().to_string();
        assert_eq!(busy(1), "session \"main\" has 1 live task: cancel it first, or wait for it");
        assert_eq!(
            busy(3),
            "session \"main\" has 3 live tasks: cancel them first, or wait for them"
        );
    }

    #[test]
    fn a_session_that_is_being_removed_takes_no_tasks_and_no_sweeps() {
        let mut session = session();
        assert!(session.takes_tasks());
        let at = Stamp::from_millis(2);
        let cancel =
            Cancel { by: Canceller::Host, reason: "enough".into(), at, grace: DEFAULT_GRACE };
        session.sweeps.push(Sweep { id: None, cancel, reach: SweepScope::Everything });
        assert!(!session.takes_tasks());
        let removing = session.remove(0, at).unwrap();
        assert!(removing.is_removing() && !removing.takes_tasks());
        assert_eq!((removing.seq, removing.removing, removing.sweeps.len()), (2, Some(at), 0));
        let again = removing.remove(0, Stamp::from_millis(3)).unwrap();
        assert_eq!(again.removing, Some(at), "it is being removed since the first time");
    }
}
