//! The record of a session, and when it may be removed.

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
    /// Since when it is being removed, if it is. It takes nothing new then,
    /// and whoever looks for it finds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removing: Option<Stamp>,
}

/// A session cannot be removed because tasks of it have not ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session {:?} has {}", .name.as_str(), told(*.live))]
pub struct SessionBusy {
    /// Its name.
    pub name: Name,
    /// How many of its tasks are live.
    pub live: u64,
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
        Self { id, space, name, seq: 1, opened_at: at, sweeps: Vec::new(), removing: None }
    }

    /// Whether tasks may be spawned under it: it is not being removed, and not
    /// all it owns is being cancelled.
    pub fn takes_tasks(&self) -> bool {
        let forbids = |sweep: &Sweep| matches!(sweep.reach, Reach::Everything | Reach::TopLevel);
        !self.is_removing() && !self.sweeps.iter().any(forbids)
    }

    /// Whether it is being removed, so that whoever looks for it finds none.
    pub fn is_removing(&self) -> bool {
        self.removing.is_some()
    }

    /// The record with which its removal begins, if none of its tasks is live;
    /// `live` is how many are. It takes no more tasks then, so that this stays
    /// so, and a sweep that is not over yet has nobody left to reach.
    pub fn remove(&self, live: u64, at: Stamp) -> Result<Self, SessionBusy> {
        if live > 0 {
            return Err(SessionBusy { name: self.name.clone(), live });
        }
        let (sweeps, removing) = (Vec::new(), self.removing.or(Some(at)));
        Ok(Self { seq: self.seq + 1, sweeps, removing, ..self.clone() })
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

fn told(live: u64) -> String {
    match live {
        1 => "1 live task: cancel it first, or wait for it".to_owned(),
        _ => format!("{live} live tasks: cancel them first, or wait for them"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::{Canceller, DEFAULT_GRACE};

    fn session() -> Session {
        let at = Stamp::from_millis(1);
        Session::new(SessionId::mint(at, 7), Space::default(), Name::new("main").unwrap(), at)
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
    fn a_session_that_is_being_removed_takes_no_tasks_and_is_swept_no_more() {
        let mut session = session();
        assert!(session.takes_tasks());
        let at = Stamp::from_millis(2);
        let cancel =
            Cancel { by: Canceller::Host, reason: "enough".into(), at, grace: DEFAULT_GRACE };
        session.sweeps.push(Sweep { cancel, reach: Reach::Everything });
        assert!(!session.takes_tasks());
        let removing = session.remove(0, at).unwrap();
        assert!(removing.is_removing() && !removing.takes_tasks());
        assert_eq!((removing.seq, removing.removing, removing.sweeps.len()), (2, Some(at), 0));
        let again = removing.remove(0, Stamp::from_millis(3)).unwrap();
        assert_eq!(again.removing, Some(at), "it is being removed since the first time");
    }
}
