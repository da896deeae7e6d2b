//! Caps: how many tasks may be alive, queued and executing, and how deep.

use std::fmt;

use crate::counts::Counts;
use crate::state::Phase;

/// The caps of a runtime. Absent means unlimited; zero means none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// How many tasks may stand above one.
    pub depth: u32,
    /// How many tasks may be alive.
    pub live: Ceiling,
    /// How many tasks may wait for a slot.
    pub queued: Ceiling,
    /// How many tasks may ever be spawned.
    pub total: Ceiling,
    /// How many tasks may execute; the rest queue.
    pub executing: Ceiling,
}

/// One cap for each thing that is counted. For [`Caps::executing`] the space
/// is this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// Of one owner.
    pub owner: Option<u64>,
    /// Of one session.
    pub session: Option<u64>,
    /// Of the whole space.
    pub space: Option<u64>,
}

impl Ceiling {
    /// No ceiling at all.
    pub const NONE: Self = Self { owner: None, session: None, space: None };

    /// Whether nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

impl Default for Caps {
    /// Sixteen levels and a million live tasks; enough for any honest tree,
    /// and an end to a dishonest one.
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

/// What a cap counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cap {
    /// How deep the task would stand.
    Depth,
    /// Live tasks.
    Live(Level),
    /// Queued tasks.
    Queued(Level),
    /// Tasks ever spawned.
    Total(Level),
    /// Tasks of one kind ever spawned below a topmost one.
    Tree,
}

/// Whose tasks a cap counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// One owner's.
    Owner,
    /// One session's.
    Session,
    /// The whole space's.
    Space,
}

impl Cap {
    /// How far it is used.
    fn use_of(self, used: u64, limit: u64) -> String {
        match self {
            Self::Depth => format!("at most {limit}, and this one would have {used}"),
            _ => format!("{used} of {limit}"),
        }
    }

    /// What to do when it is reached.
    fn way_out(self) -> &'static str {
        match self {
            Self::Depth => "spawn under a task further up, or raise the cap",
            Self::Live(_) => "wait for one to end, or raise the cap",
            Self::Queued(_) => "wait for one to start, or raise the cap",
            // None of them is ever given back.
            Self::Total(_) => "raise the cap",
            Self::Tree => "do what is left without sending more off, or raise the cap",
        }
    }
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = |level| match level {
            Level::Owner => "of this owner",
            Level::Session => "of this session",
            Level::Space => "in all",
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

/// A cap that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cap on {cap} is reached ({}): {}", .cap.use_of(*.used, *.limit), .cap.way_out())]
pub struct CapReached {
    /// Which.
    pub cap: Cap,
    /// How many are allowed.
    pub limit: u64,
    /// How many there are.
    pub used: u64,
}

/// The counts a new task would add to.
#[derive(Clone, Copy, Debug)]
pub struct Usage<'a> {
    /// Of its owner.
    pub owner: &'a Counts,
    /// Of its session.
    pub session: &'a Counts,
    /// Of its space.
    pub space: &'a Counts,
}

impl Caps {
    /// Whether one more task may be spawned in `phase` at `depth`.
    pub fn admit(&self, phase: Phase, depth: u32, usage: Usage<'_>) -> Result<(), CapReached> {
        if depth > self.depth {
            let (limit, used) = (u64::from(self.depth), u64::from(depth));
            return Err(CapReached { cap: Cap::Depth, limit, used });
        }
        usage.check(&self.live, Cap::Live, Counts::live)?;
        usage.check(&self.total, Cap::Total, Counts::spawned)?;
        if phase == Phase::Queued {
            usage.check(&self.queued, Cap::Queued, |counts| counts.of(Phase::Queued))?;
        }
        Ok(())
    }
}

impl Usage<'_> {
    fn check(
        &self,
        ceiling: &Ceiling,
        cap: fn(Level) -> Cap,
        count: impl Fn(&Counts) -> u64,
    ) -> Result<(), CapReached> {
        if ceiling.is_none() {
            return Ok(());
        }
        let levels = [
            (Level::Owner, ceiling.owner, self.owner),
            (Level::Session, ceiling.session, self.session),
            (Level::Space, ceiling.space, self.space),
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
        let mut session = Counts::default();
        session.add(Phase::Running);
        session.add(Phase::Waiting);
        let none = Counts::default();
        let usage = Usage { owner: &none, session: &session, space: &session };
        let refused = caps.admit(Phase::Running, 0, usage).unwrap_err();
        assert_eq!(refused, CapReached { cap: Cap::Live(Level::Session), limit: 2, used: 2 });
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
        let none = Counts::default();
        let usage = Usage { owner: &none, session: &none, space: &none };
        assert!(caps.admit(Phase::Running, 0, usage).is_err());
    }

    proptest::proptest! {
        #[test]
        fn s8_1_no_sequence_of_spawns_and_ends_breaks_a_cap(
            cap in 0u64..6,
            moves in proptest::collection::vec(proptest::bool::ANY, 0..60),
        ) {
            let caps = Caps { live: Ceiling { space: Some(cap), ..Ceiling::NONE }, ..Caps::default() };
            let mut counts = Counts::default();
            for spawn in moves {
                if spawn {
                    let usage = Usage { owner: &counts, session: &counts, space: &counts };
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
