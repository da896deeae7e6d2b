//! The number of tasks in each phase.

use serde::{Deserialize, Serialize};

use crate::state::Phase;

/// The number of tasks in each phase and the number ever spawned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCounts {
    phases: [u64; 7],
    spawned: u64,
}

impl TaskCounts {
    /// No tasks.
    pub const NONE: Self = Self { phases: [0; 7], spawned: 0 };

    /// The number of tasks in `phase`.
    pub fn of(&self, phase: Phase) -> u64 {
        self.phases[phase as usize]
    }

    /// The number of tasks that have not ended.
    pub fn live(&self) -> u64 {
        self.of(Phase::Queued) + self.of(Phase::Running) + self.of(Phase::Waiting)
    }

    /// The number of ended tasks that are still stored.
    pub fn ended(&self) -> u64 {
        self.phases.iter().sum::<u64>() - self.live()
    }

    /// The number of tasks ever spawned, deleted ones included. For a space: in the
    /// sessions that it still has.
    pub fn spawned(&self) -> u64 {
        self.spawned
    }

    /// Counts a new task.
    pub fn add(&mut self, phase: Phase) {
        self.phases[phase as usize] += 1;
        self.spawned += 1;
    }

    /// Counts a change of phase.
    pub fn shift(&mut self, from: Phase, to: Phase) {
        self.drop(from);
        self.phases[to as usize] += 1;
    }

    /// Counts a task that is deleted.
    pub fn drop(&mut self, phase: Phase) {
        let count = &mut self.phases[phase as usize];
        debug_assert!(*count > 0, "a task was forgotten twice");
        *count = count.saturating_sub(1);
    }

    /// Subtracts the counts of a removed session.
    pub fn drop_all(&mut self, of: &Self) {
        for (count, gone) in self.phases.iter_mut().zip(of.phases) {
            *count = count.saturating_sub(gone);
        }
        self.spawned = self.spawned.saturating_sub(of.spawned);
    }

    /// Raises the number of spawned tasks to `spawned`. For stores, which remember the
    /// number of deleted tasks.
    pub fn remember_spawned(&mut self, spawned: u64) {
        self.spawned = self.spawned.max(spawned);
    }
}
