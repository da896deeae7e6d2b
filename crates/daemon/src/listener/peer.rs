//! The process at the other end of a connection.
//!
//! A process of a task says so itself, by the mark in its environment. One that
//! has removed that mark is known by its rlimit mark, by the processes above it,
//! or by the session that it has from the daemon.

use offshoot_backends::InheritedMark;
use offshoot_core::TaskId;

use crate::service::RequestOrigin;

/// How many processes above a client are looked at.
const ABOVE: usize = 64;

/// A client's process, as it was when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerProcess {
    /// It is no process of a task.
    Free,
    /// It has this rlimit mark, or a process above it has.
    Marked(InheritedMark),
    /// This daemon started it, and it has no mark.
    Ours,
    /// It had gone, or is where the daemon cannot see it.
    Unseen,
}

impl PeerProcess {
    /// The origin of its requests, if it says that it is a process of this task.
    pub(super) fn origin(self, within: Option<TaskId>) -> RequestOrigin {
        match (self, within) {
            (Self::Free, None) => RequestOrigin::Person,
            (Self::Free | Self::Ours, Some(task)) => RequestOrigin::Task(task),
            (Self::Marked(mark), Some(task)) if mark == InheritedMark::of(task) => {
                RequestOrigin::Task(task)
            }
            (Self::Unseen, _) => RequestOrigin::Unseen,
            _ => RequestOrigin::Masked,
        }
    }

    /// The process of this id, as it is now.
    #[cfg(target_os = "linux")]
    pub(super) fn of(process: Option<i32>) -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let Some(process) = process.filter(|process| *process > 0) else { return Self::Unseen };
        let Some(mut stat) = ProcessStat::of(process) else { return Self::Unseen };
        // A daemon that leads a session gives it to its commands, and to no other
        // process.
        let leads = ProcessStat::of(own).is_some_and(|stat| stat.session == own);
        if process != own && leads && stat.session == own {
            return InheritedMark::on(process).map_or(Self::Ours, Self::Marked);
        }
        let mut above = process;
        for _ in 0..ABOVE {
            if let Some(mark) = InheritedMark::on(above) {
                return Self::Marked(mark);
            }
            if stat.parent == own && above != own {
                return Self::Ours;
            }
            above = stat.parent;
            match ProcessStat::of(above) {
                Some(next) if above > 1 => stat = next,
                _ => return Self::Free,
            }
        }
        Self::Unseen
    }

    /// Where the system does not show processes, one without a mark is free.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_process: Option<i32>) -> Self {
        Self::Free
    }
}

/// The parent and the session of a process.
#[derive(Clone, Copy, Debug)]
struct ProcessStat {
    parent: i32,
    session: i32,
}

impl ProcessStat {
    fn of(process: i32) -> Option<Self> {
        let line = std::fs::read(format!("/proc/{process}/stat")).ok()?;
        // The name of the program may hold any byte; nothing behind it holds a
        // parenthesis.
        let rest = &line[line.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self { parent, session })
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    #[test]
    fn a_named_task_needs_its_mark_and_no_name_is_no_way_round() {
        let [one, other] = [1, 2].map(|random| TaskId::mint(Stamp::from_micros(1), random));
        let marked = PeerProcess::Marked(InheritedMark::of(one));
        assert_eq!(PeerProcess::Free.origin(None), RequestOrigin::Person);
        assert_eq!(marked.origin(Some(one)), RequestOrigin::Task(one));
        for (peer, says) in [(marked, Some(other)), (marked, None), (PeerProcess::Ours, None)] {
            assert_eq!(peer.origin(says), RequestOrigin::Masked, "{peer:?} {says:?}");
        }
        assert_eq!(PeerProcess::Unseen.origin(None), RequestOrigin::Unseen);
        assert_eq!(PeerProcess::Unseen.origin(Some(one)), RequestOrigin::Unseen);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_has_gone_is_unseen() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = i32::try_from(child.id()).unwrap();
        child.wait().unwrap();
        assert_eq!(PeerProcess::of(Some(gone)), PeerProcess::Unseen);
        assert_eq!(PeerProcess::of(None), PeerProcess::Unseen);
        assert_eq!(PeerProcess::of(Some(0)), PeerProcess::Unseen);
        assert_eq!(PeerProcess::of(Some(1)), PeerProcess::Free);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_this_one_started_is_ours() {
        let cat = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn();
        let mut cat = cat.unwrap();
        assert_eq!(PeerProcess::of(i32::try_from(cat.id()).ok()), PeerProcess::Ours);
        drop(cat.stdin.take());
        cat.wait().unwrap();
    }
}
