//! The processes from which the members of a task descend.

use offshoot_core::TaskId;

use super::cgroup::Cgroup;
use super::holder::DeadHolders;
use super::identity::Identity;

/// The roots of a task's processes.
///
/// Each root and all its descendants are members of the task.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    /// Every process with this task's mark.
    pub(crate) mark: TaskId,
    /// The process that was started for it, and its group. No other task's process is in
    /// the group while that process lives or is not reaped, nor in a session that a dead
    /// holder left behind.
    pub(crate) main: Option<Identity>,
    /// Its cgroups: that of this attempt, or those that dead holders have left.
    pub(crate) cgroups: Vec<Cgroup>,
    /// The dead holders.
    pub(crate) dead_holders: DeadHolders,
}

impl Roots {
    /// Returns the roots of a task that this process has started.
    pub(crate) fn ours(mark: TaskId, main: Identity, cgroup: Option<Cgroup>) -> Self {
        let cgroups = cgroup.into_iter().collect();
        Self { mark, main: Some(main), cgroups, dead_holders: DeadHolders::default() }
    }

    /// No member started before this.
    pub(crate) fn since(&self) -> u64 {
        self.main.map_or(0, |main| main.started)
    }
}
