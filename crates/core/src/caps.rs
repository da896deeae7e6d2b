//! Caps on the number of live, queued and executing tasks, and on their depth.

use std::fmt;

use crate::state::Phase;
use crate::task_counts::TaskCounts;

/// The caps of a runtime. `None` means unlimited, zero means that nothing is admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The maximum number of tasks above a task.
    pub depth: u32,
    /// The maximum number of live tasks.
    pub live: Ceiling,
    /// The maximum number of tasks that wait for a slot.
    pub queued: Ceiling,
    /// The maximum number of tasks ever spawned.
    pub total: Ceiling,
    /// The maximum number of tasks that execute at the same time. Further tasks wait in a
    /// queue.
    pub executing: Ceiling,
}

/// A cap for each level at which tasks are counted. For [`Caps::executing`] the space is
/// this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// For each owner.
    pub owner: Option<u64>,
    /// For each session.
    pub session: Option<u64>,
    /// For the whole space.
    pub space: Option<u64>,
}

impl Ceiling {
    /// No cap at any level.
    pub const NONE: Self = Self { owner: None, session: None, space: None };

    /// Whether no level has a cap.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

impl Default for Caps {
    /// Depth 16 and a million live tasks: enough for any useful tree, and a bound on a
    /// runaway one.
    fn default() -> Self {
        Self {
            depth: 16,
            live: Ceiling { space: Some(1_000_000), ..Ceiling::NONE },
            queued: Ceiling::NONE,
            total: Ceiling::NONE,
            executing: Ceiling::NONE,
        }
    }
}

/// The quantity that a cap limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cap {
    /// The depth of a task.
    Depth,
    /// Live tasks.
    Live(CapLevel),
    /// Queued tasks.
    Queued(CapLevel),
    /// Tasks ever spawned.
    Total(CapLevel),
    /// Tasks of one kind ever spawned in one tree.
    Tree,
}

/// The level at which a cap counts tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CapLevel {
    /// The tasks of one owner.
    Owner,
    /// The tasks of one session.
    Session,
    /// The tasks of the whole space.
    Space,
}

impl Cap {
    /// The current use in words.
    fn use_of(self, used: u64, limit: u64) -> String {
        match self {
            Self::Depth => format!("at most {limit}, and this one would have {used}"),
            _ => format!("{used} of {limit}"),
        }
    }

    /// The reaction when the cap is reached.
    fn way_out(self) -> &'static str {
        match self {
            Self::Depth => "spawn under a task further up, or raise the cap",
            Self::Live(_) => "wait for one to end, or raise the cap",
            Self::Queued(_) => "wait for one to start, or raise the cap",
            // The number of spawned tasks never goes down.
            Self::Total(_) => "raise the cap",
            Self::Tree => "do the rest without spawning more tasks, or raise the cap",
        }
    }
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = |level| match level {
            CapLevel::Owner => "of this owner",
            CapLevel::Session => "of this session",
            CapLevel::Space => "in all",
        };
        match self {
            Self::Depth => f.write_str("tasks above a task"),
            Self::Live(of) => write!(f, "live tasks {}", level(*of)),
            Self::Queued(of) => write!(f, "queued tasks {}", level(*of)),
            Self::Total(of) => write!(f, "tasks ever spawned {}", level(*of)),
            Self::Tree => f.write_str("tasks of this kind ever spawned below one topmost task"),
        }
    }
}

/// The error for a reached cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cap on {cap} is reached ({}): {}", .cap.use_of(*.used, *.limit), .cap.way_out())]
pub struct CapReached {
    /// The cap.
    pub cap: Cap,
    /// Its limit.
    pub limit: u64,
    /// The current number.
    pub used: u64,
}

/// The counts that a new task adds to.
#[derive(Clone, Copy, Debug)]
pub struct CapUsage<'a> {
    /// The counts of its owner.
    pub owner: &'a TaskCounts,
    /// The counts of its session.
    pub session: &'a TaskCounts,
    /// The counts of its space.
    pub space: &'a TaskCounts,
}

impl Caps {
    /// Checks whether one more task may be spawned in `phase` at `depth`.
    pub fn admit(&self, phase: Phase, depth: u32, usage: CapUsage<'_>) -> Result<(), CapReached> {
        if depth > self.depth {
            let (limit, used) = (u64::from(self.depth), u64::from(depth));
            return Err(CapReached { cap: Cap::Depth, limit, used });
        }
        usage.check(&self.live, Cap::Live, TaskCounts::live)?;
        usage.check(&self.total, Cap::Total, TaskCounts::spawned)?;
        if phase == Phase::Queued {
            usage.check(&self.queued, Cap::Queued, |counts| counts.of(Phase::Queued))?;
        }
        Ok(())
    }
}

impl CapUsage<'_> {
    fn check(
        &self,
        ceiling: &Ceiling,
        cap: fn(CapLevel) -> Cap,
        count: impl Fn(&TaskCounts) -> u64,
    ) -> Result<(), CapReached> {
        if ceiling.is_none() {
            return Ok(());
        }
        let levels = [
            (CapLevel::Owner, ceiling.owner, self.owner),
            (CapLevel::Session, ceiling.session, self.session),
            (CapLevel::Space, ceiling.space, self.space),
        ];
        for (level, limit, counts) in levels {
            let used = count(counts);
            if let Some(limit) = limit.filter(|limit| used >= *limit) {
                return Err(CapReached { cap: cap(level), limit, used });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s8_1_a_refusal_names_the_cap_and_the_present_use() {
        let caps = Caps { live: Ceiling { session: Some(2), ..Ceiling::NONE }, ..Caps::default() };
        let mut session = TaskCounts::default();
        session.add(Phase::Running);
        session.add(Phase::Waiting);
        let none = TaskCounts::default();
        let usage = CapUsage { owner: &none, session: &session, space: &session };
        let refused = caps.admit(Phase::Running, 0, usage).unwrap_err();
        assert_eq!(refused, CapReached { cap: Cap::Live(CapLevel::Session), limit: 2, used: 2 });
        assert!(refused.to_string().contains("live tasks of this session is reached (2 of 2)"));
        let caps = Caps { depth: 3, ..Caps::default() };
        let deep = caps.admit(Phase::Running, 4, usage).unwrap_err();
        assert_eq!(
            deep.to_string(),
            "the cap on tasks above a task is reached (at most 3, and this one would have 4): spawn \
             under a task further up, or raise the cap"
        );
    }

    #[test]
    fn s8_1_zero_means_none() {
        let caps = Caps { live: Ceiling { owner: Some(0), ..Ceiling::NONE }, ..Caps::default() };
        let none = TaskCounts::default();
        let usage = CapUsage { owner: &none, session: &none, space: &none };
        assert!(caps.admit(Phase::Running, 0, usage).is_err());
    }

    proptest::proptest! {
        #[test]
        fn s8_1_no_sequence_of_spawns_and_ends_breaks_a_cap(
            cap in 0u64..6,
            moves in proptest::collection::vec(proptest::bool::ANY, 0..60),
        ) {
            let caps = Caps { live: Ceiling { space: Some(cap), ..Ceiling::NONE }, ..Caps::default() };
            let mut counts = TaskCounts::default();
            for spawn in moves {
                if spawn {
                    let usage = CapUsage { owner: &counts, session: &counts, space: &counts };
                    if caps.admit(Phase::Running, 0, usage).is_ok() {
                        counts.add(Phase::Running);
                    } else {
                        proptest::prop_assert_eq!(counts.live(), cap);
                    }
                } else if counts.live() > 0 {
                    counts.shift(Phase::Running, Phase::Completed);
                }
                proptest::prop_assert!(counts.live() <= cap);
            }
        }
    }
}
