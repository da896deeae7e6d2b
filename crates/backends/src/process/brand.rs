//! What a process cannot shake off: a number that it passes on to whatever it
//! starts.
//!
//! A mark in the environment is lost when a process empties its environment,
//! and cannot be read while it becomes another program. A limit is inherited
//! by children and kept by new programs, whatever else they leave behind. The
//! one on real-time computation can hold 64 bits and has no effect on anybody
//! while it is as high as a brand.

use offshoot_core::TaskId;

/// Far above what a limit of use could be, and below what means that there is
/// none: 146,000 years.
const FLOOR: u64 = 1 << 62;

/// A task's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Brand(u64);

impl Brand {
    /// The brand of a task's processes: the part of its id that is random.
    pub(crate) fn of(task: TaskId) -> Self {
        let [.., a, b, c, d, e, f, g, h] = task.to_bytes();
        Self(FLOOR | (u64::from_be_bytes([a, b, c, d, e, f, g, h]) & (FLOOR - 1)))
    }

    /// The brand of a process, if it has one.
    pub(crate) fn on(pid: i32) -> Option<Self> {
        Self::in_limits(&std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
    }

    fn in_limits(limits: &str) -> Option<Self> {
        let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        (FLOOR..FLOOR << 1).contains(&limit).then_some(Self(limit))
    }

    /// Puts it on this process, for its next child, until the guard is dropped.
    /// Nothing comes of it where somebody has limited this process already: its
    /// children have a mark in their environment, too.
    pub(crate) fn wear(self) -> Worn {
        Worn { before: limit::swap(Some(self.0)) }
    }
}

/// While it lasts this process wears a brand.
#[derive(Debug)]
#[must_use]
pub(crate) struct Worn {
    before: Option<u64>,
}

impl Drop for Worn {
    fn drop(&mut self) {
        limit::swap(self.before);
    }
}

/// Has this process, and what it starts from now on, belong to no task.
pub fn belong_to_no_task() {
    limit::swap(None);
}

#[cfg(target_os = "linux")]
mod limit {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Sets the limit, or lifts it as far as it may be; what it was.
    pub(super) fn swap(current: Option<u64>) -> Option<u64> {
        let before = getrlimit(Resource::Rttime);
        let current = current.or(before.maximum);
        let _ = setrlimit(Resource::Rttime, Rlimit { current, maximum: before.maximum });
        before.current
    }
}

#[cfg(not(target_os = "linux"))]
mod limit {
    /// There is no such limit.
    pub(super) fn swap(_current: Option<u64>) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[test]
    fn each_task_has_a_brand_of_its_own() {
        let brand = |random| Brand::of(TaskId::mint(Stamp::from_millis(1), random));
        assert_eq!(brand(7), brand(7));
        assert_ne!(brand(7), brand(8));
        for random in [0, 1, u128::MAX] {
            assert!((FLOOR..FLOOR << 1).contains(&brand(random).0));
        }
    }

    #[test]
    fn a_limit_that_somebody_set_is_no_brand() {
        let limits = |soft: &str| {
            format!("Max realtime priority     0  0\nMax realtime timeout  {soft}  unlimited  us\n")
        };
        assert_eq!(Brand::in_limits(&limits("unlimited")), None);
        assert_eq!(Brand::in_limits(&limits("200000")), None);
        assert_eq!(Brand::in_limits(&limits("4611686018427387911")), Some(Brand(FLOOR + 7)));
        assert_eq!(Brand::in_limits(""), None);
    }
}
