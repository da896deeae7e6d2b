//! The marks by which the processes of a task are known.
//!
//! A process passes both marks on to every process that it starts:
//!
//! - The *environment mark* is the variable [`MARK_VARIABLE`] with the id of the task.
//!   It is lost when a process empties its environment, and cannot be read while the
//!   process executes another program.
//! - The *rlimit mark* is a number in the limit on real-time computation
//!   (`RLIMIT_RTTIME`). Children inherit a limit, and new programs keep it. This one
//!   holds 64 bits, and has no effect while it is as high as a mark. A process that is
//!   not confined can lower it.
//!
//! Both represent the same [`InheritedMark`]: a number derived from the id.

use std::time::Duration;

use offshoot_core::TaskId;
use parking_lot::{Condvar, Mutex};

/// The variable of the environment mark. Its value is the id of the task.
pub(crate) const MARK_VARIABLE: &str = "OFFSHOOT_TASK";

/// The lowest rlimit mark: far above any limit in use (146,000 years), and below the
/// value that means no limit.
const FLOOR: u64 = 1 << 62;

/// The mark of a task's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InheritedMark(u64);

impl InheritedMark {
    /// Returns the mark of a task's processes: the random part of its id.
    pub fn of(task: TaskId) -> Self {
        let [.., a, b, c, d, e, f, g, h] = task.to_bytes();
        Self(FLOOR | (u64::from_be_bytes([a, b, c, d, e, f, g, h]) & (FLOOR - 1)))
    }

    /// Reads the rlimit mark of a process.
    pub fn on(pid: i32) -> Option<Self> {
        Self::in_limits(&std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?)
    }

    /// Finds the rlimit mark in the text of `/proc/<pid>/limits`.
    pub(super) fn in_limits(limits: &str) -> Option<Self> {
        let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        let limit: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
        (FLOOR..FLOOR << 1).contains(&limit).then_some(Self(limit))
    }

    /// Sets the rlimit mark on this process while `work` starts a process, so that the
    /// new process has it from its first moment.
    ///
    /// Another process that this one starts at that moment also has the mark. Its parent
    /// shows the difference.
    pub(crate) fn set_during<T>(self, work: impl FnOnce() -> T) -> T {
        let _turn = MarkTurn::take(self);
        work()
    }
}

/// Timeout for the turn before. A program on a file system that does not answer may
/// never begin; its process exists by then and has its mark, so the next turn need
/// not wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// The turns of setting a mark on this process.
#[derive(Debug)]
struct MarkTurns {
    last: u64,
    taken: Option<u64>,
    /// The limit without a mark.
    usual: Option<u64>,
}

static TURNS: Mutex<MarkTurns> = Mutex::new(MarkTurns { last: 0, taken: None, usual: None });
static FREED: Condvar = Condvar::new();

/// One turn of setting a mark; dropping it removes the mark.
#[derive(Debug)]
struct MarkTurn(u64);

impl MarkTurn {
    fn take(mark: InheritedMark) -> Self {
        let mut turns = TURNS.lock();
        while let Some(other) = turns.taken {
            let late = FREED.wait_for(&mut turns, PATIENCE).timed_out();
            if late && turns.taken == Some(other) {
                tracing::warn!("a program is slow to begin; the next one begins before it");
                break;
            }
        }
        let before = limit::set(Some(mark.0));
        if turns.taken.is_none() {
            turns.usual = before;
        }
        turns.last += 1;
        turns.taken = Some(turns.last);
        Self(turns.last)
    }
}

impl Drop for MarkTurn {
    fn drop(&mut self) {
        let mut turns = TURNS.lock();
        // A later turn may have taken over.
        if turns.taken == Some(self.0) {
            limit::set(turns.usual);
            turns.taken = None;
            FREED.notify_one();
        }
    }
}

/// Removes the mark of this process and its later children, so they belong to no task.
pub fn belong_to_no_task() {
    super::cgroup::leave_command();
    limit::set(None);
}

#[cfg(target_os = "linux")]
mod limit {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Sets the limit of this process, or lifts it as far as it may be, and returns
    /// the limit before. It has no effect on a process whose hard limit is lower: the
    /// processes that it starts have the environment mark, too.
    pub(super) fn set(current: Option<u64>) -> Option<u64> {
        let before = getrlimit(Resource::Rttime);
        let current = current.or(before.maximum);
        let _ = setrlimit(Resource::Rttime, Rlimit { current, maximum: before.maximum });
        before.current
    }
}

#[cfg(not(target_os = "linux"))]
mod limit {
    /// Has no effect: this system has no such limit.
    pub(super) fn set(_current: Option<u64>) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[test]
    fn each_task_has_a_mark_of_its_own() {
        let mark = |random| InheritedMark::of(TaskId::mint(Stamp::from_millis(1), random));
        assert_eq!(mark(7), mark(7));
        assert_ne!(mark(7), mark(8));
        for random in [0, 1, u128::MAX] {
            assert!((FLOOR..FLOOR << 1).contains(&mark(random).0));
        }
    }

    #[test]
    fn a_limit_of_the_user_is_no_mark() {
        let limits = |soft: &str| {
            format!("Max realtime priority     0  0\nMax realtime timeout  {soft}  unlimited  us\n")
        };
        assert_eq!(InheritedMark::in_limits(&limits("unlimited")), None);
        assert_eq!(InheritedMark::in_limits(&limits("200000")), None);
        assert_eq!(
            InheritedMark::in_limits(&limits("4611686018427387911")),
            Some(InheritedMark(FLOOR + 7))
        );
        assert_eq!(InheritedMark::in_limits(""), None);
    }

    #[test]
    fn a_program_that_is_slow_to_begin_delays_and_marks_no_other() {
        let mark = |random| InheritedMark::of(TaskId::mint(Stamp::from_millis(1), random));
        let own = || InheritedMark::on(std::process::id() as i32);
        let (begun, begins) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let slow = std::thread::spawn(move || {
            mark(1).set_during(|| {
                begun.send(()).unwrap();
                ends.recv().unwrap();
            });
        });
        begins.recv().unwrap();
        mark(2).set_during(|| {
            assert_eq!(own(), Some(mark(2)));
            end.send(()).unwrap();
            slow.join().unwrap();
            assert_eq!(own(), Some(mark(2)), "the one before takes nothing away");
        });
        assert_eq!(own(), None);
    }
}
