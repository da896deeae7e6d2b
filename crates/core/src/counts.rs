//! How many tasks stand where.

use serde::{Deserialize, Serialize};

use crate::state::Phase;

/// How many tasks are in each phase, and how many there ever were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    phases: [u64; 7],
    spawned: u64,
}

impl Counts {
    /// No tasks at all.
    pub const NONE: Self = Self { phases: [0; 7], spawned: 0 };

    /// How many tasks are in `phase`.
    pub fn of(&self, phase: Phase) -> u64 {
        self.phases[phase as usize]
    }

    /// How many tasks have not ended.
    pub fn live(&self) -> u64 {
        self.of(Phase::Queued) + self.of(Phase::Running) + self.of(Phase::Waiting)
    }

    /// How many tasks have ended and are still kept.
    pub fn ended(&self) -> u64 {
        self.phases.iter().sum::<u64>() - self.live()
    }

    /// How many tasks were ever spawned, forgotten ones included. Of a space:
    /// in the sessions that it has.
    pub fn spawned(&self) -> u64 {
        self.spawned
    }

    /// Counts a new task.
    pub fn add(&mut self, phase: Phase) {
        self.phases[phase as usize] += 1;
        self.spawned += 1;
    }

    /// Counts a change.
    pub fn shift(&mut self, from: Phase, to: Phase) {
        self.drop(from);
        self.phases[to as usize] += 1;
    }

    /// Counts a task that is kept no longer.
    pub fn drop(&mut self, phase: Phase) {
        let count = &mut self.phases[phase as usize];
        debug_assert!(*count > 0, "a task was forgotten twice");
        *count = count.saturating_sub(1);
    }

    /// Counts out what a session counted that is removed: the tasks it had, and
    /// those it ever had.
    pub fn drop_all(&mut self, of: &Self) {
        for (count, gone) in self.phases.iter_mut().zip(of.phases) {
            *count = count.saturating_sub(gone);
        }
        self.spawned = self.spawned.saturating_sub(of.spawned);
    }

    /// Takes `spawned` as the number of tasks there ever were, if it is more
    /// than is known: what a store remembers of deleted tasks.
    pub fn remember_spawned(&mut self, spawned: u64) {
        self.spawned = self.spawned.max(spawned);
    }
}
