//! What a process cannot shake off: a number that it passes on to whatever it
//! starts.
//!
//! A mark in the environment is lost when a process empties its environment,
//! and cannot be read while it becomes another program. A limit is inherited
//! by children and kept by new programs, whatever else they leave behind. The
//! one on real-time computation can hold 64 bits and has no effect on anybody
//! while it is as high as a brand.

use std::time::Duration;

use offshoot_core::TaskId;
use parking_lot::{Condvar, Mutex};

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
    #[cfg(test)]
    fn on(pid: i32) -> Option<Self> {
        Self::in_limits(&std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
    }

    /// The brand in what `/proc` tells of the limits of a process.
    pub(super) fn in_limits(limits: &str) -> Option<Self> {
        let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        (FLOOR..FLOOR << 1).contains(&limit).then_some(Self(limit))
    }

    /// Does `work`, which starts a process, so that the process has the brand
    /// from its first moment: this one wears it meanwhile. What else this process
    /// starts at that moment has it, too, and is told apart by its parent.
    pub(crate) fn worn_during<T>(self, work: impl FnOnce() -> T) -> T {
        let _turn = Turn::take(self);
        work()
    }
}

/// How long a turn waits for the one before it. A program on a file system that
/// does not answer may never begin; its process is there by then and has its
/// brand, so the next one need not wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// Who wears a brand at the moment.
#[derive(Debug)]
struct Turns {
    last: u64,
    taken: Option<u64>,
    /// The limit as it is when nobody wears one.
    usual: Option<u64>,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { last: 0, taken: None, usual: None });
static FREED: Condvar = Condvar::new();

/// One at a time wears a brand, until this is dropped.
#[derive(Debug)]
struct Turn(u64);

impl Turn {
    fn take(brand: Brand) -> Self {
        let mut turns = TURNS.lock();
        while let Some(other) = turns.taken {
            let late = FREED.wait_for(&mut turns, PATIENCE).timed_out();
            if late && turns.taken == Some(other) {
                tracing::warn!("a program is slow to begin; the next one begins before it");
                break;
            }
        }
        let before = limit::set(Some(brand.0));
        if turns.taken.is_none() {
            turns.usual = before;
        }
        turns.last += 1;
        turns.taken = Some(turns.last);
        Self(turns.last)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = TURNS.lock();
        // Unless another has taken over.
        if turns.taken == Some(self.0) {
            limit::set(turns.usual);
            turns.taken = None;
            FREED.notify_one();
        }
    }
}

/// Has this process, and what it starts from now on, belong to no task.
pub fn belong_to_no_task() {
    super::cgroup::leave_command();
    limit::set(None);
}

#[cfg(target_os = "linux")]
mod limit {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Sets the limit of this process, or lifts it as far as it may be; what it
    /// was. Nothing comes of it where somebody has limited this process already:
    /// what it starts has a mark in its environment, too.
    pub(super) fn set(current: Option<u64>) -> Option<u64> {
        let before = getrlimit(Resource::Rttime);
        let current = current.or(before.maximum);
        let _ = setrlimit(Resource::Rttime, Rlimit { current, maximum: before.maximum });
        before.current
    }
}

#[cfg(not(target_os = "linux"))]
mod limit {
    /// There is no such limit.
    pub(super) fn set(_current: Option<u64>) -> Option<u64> {
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

    #[test]
    fn a_program_that_is_slow_to_begin_holds_up_nobody_and_marks_nobody_else() {
        let brand = |random| Brand::of(TaskId::mint(Stamp::from_millis(1), random));
        let own = || Brand::on(std::process::id() as i32);
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let slow = std::thread::spawn(move || {
            brand(1).worn_during(|| {
                begun.send(()).unwrap();
                ends.recv().unwrap();
            });
        });
        begins.recv().unwrap();
        brand(2).worn_during(|| {
            assert_eq!(own(), Some(brand(2)));
            end.send(()).unwrap();
            slow.join().unwrap();
            assert_eq!(own(), Some(brand(2)), "the one before takes nothing away");
        });
        assert_eq!(own(), None);
    }
}
