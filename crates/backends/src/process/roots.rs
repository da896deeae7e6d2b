//! What makes a process a member of a task.

use offshoot_core::TaskId;

use super::holder::Formers;
use super::identity::Identity;

/// Where a task's processes begin: each of these, and all that descend from
/// them, are its members.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    /// Whoever has this task's mark.
    pub(crate) mark: TaskId,
    /// The process that was started for it.
    pub(crate) main: Option<Identity>,
    /// Its group, as far as that is certain to be its own.
    pub(crate) group: Group,
}

/// How much the number of a group tells.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    /// The main process leads it and is not reaped, so nobody else can.
    Ours,
    /// The main process may be gone. Nobody else has the group while that
    /// process lives, nor in a session that a dead holder left behind.
    Left(Formers),
}

impl Roots {
    /// The members of a task whose main process this one started and has not
    /// reaped.
    pub(crate) fn ours(mark: TaskId, main: Identity) -> Self {
        Self { mark, main: Some(main), group: Group::Ours }
    }

    /// What a dead holder of the data folder has left of a task.
    pub(crate) fn left(mark: TaskId, main: Option<Identity>, formers: Formers) -> Self {
        Self { mark, main, group: Group::Left(formers) }
    }

    /// No member started before this.
    pub(crate) fn since(&self) -> u64 {
        self.main.map_or(0, |main| main.started)
    }
}
