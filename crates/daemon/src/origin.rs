//! Who a visitor is: a person, or a process of a task.
//!
//! What an agent runs must not answer for the person who is asked about it. A
//! process of a task says so itself, by the mark in its environment; one that
//! has taken the mark off is known by its brand, by those it descends from, or by
//! the session that it has from the daemon. Whoever cannot be looked at is no
//! person either.

use offshoot_client::wire::{Code, WireError};
use offshoot_core::TaskId;

/// How many processes above a visitor are looked at.
const ABOVE: usize = 64;

/// What could be seen of a visitor when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is no process of a task.
    Free,
    /// It has this brand.
    Branded(u64),
    /// It was started by this daemon, and has no brand.
    Ours,
    /// It had gone, or is where this process cannot see.
    Nothing,
}

/// Who a visitor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A person, as far as can be seen.
    Person,
    /// A process of this task.
    Task(TaskId),
    /// A process of some task that does not say of which, or says so wrongly.
    Masked,
    /// One that could not be looked at.
    Unseen,
}

impl Origin {
    /// Who a visitor is that was seen so and says that it is of this task.
    pub(crate) fn of(seen: Seen, within: Option<TaskId>) -> Self {
        match (seen, within) {
            (Seen::Free, None) => Self::Person,
            (Seen::Free | Seen::Ours, Some(task)) => Self::Task(task),
            (Seen::Branded(brand), Some(task)) if brand == brand_of(task) => Self::Task(task),
            (Seen::Nothing, _) => Self::Unseen,
            _ => Self::Masked,
        }
    }

    /// Refuses what only a person may do.
    pub(crate) fn must_be_person(self, what: &str) -> Result<(), WireError> {
        match self {
            Self::Person => Ok(()),
            Self::Task(_) | Self::Masked => {
                let text = format!("{what} is for a person, and this is a process of a task");
                let hint = "type it in a terminal of your own: what an agent runs cannot answer \
                            for you";
                Err(WireError::new(Code::NotAPerson, text).hint(hint))
            }
            Self::Unseen => {
                let text = format!("{what} is for a person, and who asks cannot be seen from here");
                let hint = "its process has gone, or is in another namespace than the daemon: type \
                            it where the daemon was started";
                Err(WireError::new(Code::NotAPerson, text).hint(hint))
            }
        }
    }
}

/// Far above what a limit of use could be: where brands begin.
const FLOOR: u64 = 1 << 62;

/// The brand of a task's processes, as commands are given it.
fn brand_of(task: TaskId) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = task.to_bytes();
    FLOOR | (u64::from_be_bytes([a, b, c, d, e, f, g, h]) & (FLOOR - 1))
}

impl Seen {
    /// What can be seen of the process of this number now.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(process: Option<i32>) -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let Some(process) = process.filter(|process| *process > 0) else { return Self::Nothing };
        let Some(mut stat) = Stat::of(process) else { return Self::Nothing };
        // A daemon that leads a session gives it to its commands, and to nobody
        // else.
        let leads = Stat::of(own).is_some_and(|stat| stat.session == own);
        if process != own && leads && stat.session == own {
            return brand_on(process).map_or(Self::Ours, Self::Branded);
        }
        let mut above = process;
        for _ in 0..ABOVE {
            if let Some(brand) = brand_on(above) {
                return Self::Branded(brand);
            }
            if stat.parent == own && above != own {
                return Self::Ours;
            }
            above = stat.parent;
            match Stat::of(above) {
                Some(next) if above > 1 => stat = next,
                _ => return Self::Free,
            }
        }
        Self::Nothing
    }

    /// Where the system tells nothing of processes, whoever has no mark is free.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_process: Option<i32>) -> Self {
        Self::Free
    }
}

/// What the system tells of one process.
#[derive(Clone, Copy, Debug)]
struct Stat {
    parent: i32,
    session: i32,
}

impl Stat {
    fn of(process: i32) -> Option<Self> {
        let line = std::fs::read(format!("/proc/{process}/stat")).ok()?;
        // The program's name may hold any byte; nothing behind it holds a
        // parenthesis.
        let rest = &line[line.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self { parent, session })
    }
}

/// The brand of a process, if it has one.
fn brand_on(process: i32) -> Option<u64> {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    (FLOOR..FLOOR << 1).contains(&limit).then_some(limit)
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[test]
    fn a_mark_counts_only_with_its_brand_and_no_mark_is_no_way_round() {
        let [one, other] = [1, 2].map(|random| TaskId::mint(Stamp::from_micros(1), random));
        let brand = Seen::Branded(brand_of(one));
        assert_eq!(Origin::of(Seen::Free, None), Origin::Person);
        assert_eq!(Origin::of(brand, Some(one)), Origin::Task(one));
        for (seen, says) in [(brand, Some(other)), (brand, None), (Seen::Ours, None)] {
            assert_eq!(Origin::of(seen, says), Origin::Masked, "{seen:?} {says:?}");
        }
        assert_eq!(Origin::of(Seen::Nothing, None), Origin::Unseen);
        assert_eq!(Origin::of(Seen::Nothing, Some(one)), Origin::Unseen);
        assert!(Origin::Person.must_be_person("this").is_ok());
        for process in [Origin::Task(one), Origin::Masked, Origin::Unseen] {
            let fault = process.must_be_person("this").unwrap_err();
            assert_eq!(fault.code, Code::NotAPerson);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whoever_is_not_there_is_no_person() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = i32::try_from(child.id()).unwrap();
        child.wait().unwrap();
        assert_eq!(Seen::of(Some(gone)), Seen::Nothing);
        assert_eq!(Seen::of(None), Seen::Nothing);
        assert_eq!(Seen::of(Some(0)), Seen::Nothing);
        assert_eq!(Seen::of(Some(1)), Seen::Free);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_this_process_started_is_ours() {
        let cat = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn();
        let mut cat = cat.unwrap();
        assert_eq!(Seen::of(i32::try_from(cat.id()).ok()), Seen::Ours);
        drop(cat.stdin.take());
        cat.wait().unwrap();
    }
}
