//! The status of one process, as the system shows it.

use super::identity::Identity;

/// The used fields of `/proc/<pid>/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) started: u64,
    state: u8,
    threads: u32,
}

impl Stat {
    /// Returns the status of the process with a number.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Self::parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    pub(super) fn parse(pid: i32, line: &[u8]) -> Option<Self> {
        // The second field is the program's name in parentheses, with any bytes. No later field
        // has a parenthesis.
        let rest = &line[line.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let mut number = |skipped: usize| fields.nth(skipped)?.parse::<i64>().ok();
        let (parent, group, session) = (number(0)?, number(0)?, number(0)?);
        let (threads, started) = (number(13)?, number(1)?);
        Some(Self {
            pid,
            parent: i32::try_from(parent).ok()?,
            group: i32::try_from(group).ok()?,
            session: i32::try_from(session).ok()?,
            started: u64::try_from(started).ok()?,
            state,
            threads: u32::try_from(threads).unwrap_or(0),
        })
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { pid: self.pid, started: self.started }
    }

    /// Whether it runs. A process whose first thread alone has ended looks dead but is not.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x') || self.threads > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_parentheses_and_spaces() {
        let line = b"42 (a) R 1 (b) S 7 42 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 1234 99 1";
        let stat = Stat::parse(42, line).unwrap();
        assert_eq!((stat.parent, stat.group, stat.session), (7, 42, 9));
        assert_eq!((stat.started, stat.threads), (1234, 3));
        assert!(stat.is_alive());
    }

    #[test]
    fn a_dead_first_thread_is_not_a_dead_process() {
        let line = |threads: u32| {
            format!("42 (x) Z 7 42 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 {threads} 0 1234 99 1")
        };
        assert!(Stat::parse(42, line(2).as_bytes()).unwrap().is_alive());
        assert!(!Stat::parse(42, line(1).as_bytes()).unwrap().is_alive());
    }

    #[test]
    fn a_truncated_line_is_no_process() {
        assert_eq!(Stat::parse(42, b"42 (x) S 7 42"), None);
        assert_eq!(Stat::parse(42, b""), None);
    }
}
