//! The counters of a simulation.

use std::fmt;
use std::ops::AddAssign;

/// The counters of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Steps of the executor.
    pub steps: u64,
    /// Operations of actors and bodies that were acknowledged.
    pub operations: u64,
    /// Operations that were refused or failed.
    pub refusals: u64,
    /// Tasks spawned.
    pub tasks: u64,
    /// Commits that took effect.
    pub commits: u64,
    /// Sessions removed.
    pub removed: u64,
    /// Store operations that failed on purpose.
    pub faults: u64,
    /// Processes that died on purpose.
    pub crashes: u64,
    /// Runtimes that were dropped or shut down and opened again.
    pub reopened: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.operations += other.operations;
        self.refusals += other.refusals;
        self.tasks += other.tasks;
        self.commits += other.commits;
        self.removed += other.removed;
        self.faults += other.faults;
        self.crashes += other.crashes;
        self.reopened += other.reopened;
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks, {} operations acknowledged and {} refused, {} commits, \
             {} sessions removed, {} faults, {} crashes, {} reopened, {} steps",
            self.tasks,
            self.operations,
            self.refusals,
            self.commits,
            self.removed,
            self.faults,
            self.crashes,
            self.reopened,
            self.steps
        )
    }
}
