//! Access to tasks: who can see and control which task.

use serde::{Deserialize, Serialize};

use crate::cancel::Canceller;
use crate::id::{SessionId, TaskId};
use crate::lineage::Owner;
use crate::task::{Spec, Visibility};

/// The caller of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// A person or an operator, who has access to everything.
    Host,
    /// A session.
    Session(SessionId),
    /// A task.
    Task(TaskId),
}

impl Caller {
    /// Whether this caller can see and control `target`.
    ///
    /// `visibility` is the calling task's own. `is_descendant` says whether the target is
    /// below the caller, and is called only when the answer depends on it.
    pub fn may_touch(
        self,
        target: &Spec,
        visibility: Visibility,
        is_descendant: impl FnOnce() -> bool,
    ) -> bool {
        match self {
            Self::Host => true,
            Self::Session(session) => {
                target.owner() == Owner::Session(session)
                    || (visibility == Visibility::Subtree && target.lineage.session == session)
            }
            Self::Task(task) => {
                target.id == task
                    || target.owner() == Owner::Task(task)
                    || (visibility == Visibility::Subtree && is_descendant())
            }
        }
    }

    /// The caller as an owner; `None` for the host.
    pub fn as_owner(self) -> Option<Owner> {
        match self {
            Self::Host => None,
            Self::Session(session) => Some(Owner::Session(session)),
            Self::Task(task) => Some(Owner::Task(task)),
        }
    }
}

impl From<Caller> for Canceller {
    fn from(caller: Caller) -> Self {
        match caller {
            Caller::Host => Self::Host,
            Caller::Session(session) => Self::Session(session),
            Caller::Task(task) => Self::Task(task),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::doc::spec;
    use crate::task::{Task, Tie};

    fn child_of(parent: &Task, tie: Tie) -> Task {
        let mut spec = spec("child");
        spec.lineage.parent = Some(parent.id());
        spec.tie = tie;
        Task::new(Arc::new(spec))
    }

    #[test]
    fn s7_1_a_task_touches_itself_and_its_children_by_equality() {
        let parent = Task::new(Arc::new(spec("parent")));
        let child = child_of(&parent, Tie::Owned);
        let caller = Caller::Task(parent.id());
        let sees = |target: &Task, visibility| caller.may_touch(&target.spec, visibility, || true);
        assert!(sees(&parent, Visibility::Children));
        assert!(sees(&child, Visibility::Children));
        // A detached child belongs to the session.
        assert!(!sees(&child_of(&parent, Tie::Detached), Visibility::Children));
        // A child has no access to its parent.
        assert!(!Caller::Task(child.id()).may_touch(&parent.spec, Visibility::Subtree, || false));
    }

    #[test]
    fn s7_1_a_session_touches_its_tasks_and_not_their_children() {
        let parent = Task::new(Arc::new(spec("parent")));
        let caller = Caller::Session(parent.spec.lineage.session);
        assert!(caller.may_touch(&parent.spec, Visibility::Children, || false));
        let child = child_of(&parent, Tie::Owned);
        assert!(!caller.may_touch(&child.spec, Visibility::Children, || true));
        assert!(caller.may_touch(&child.spec, Visibility::Subtree, || true));
    }
}
