//! What the system tells of one process.

use super::identity::Identity;

/// A line of `/proc/<pid>/stat`, as far as it is of use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) started: u64,
    state: u8,
    threads: u32,
    flags: u32,
    /// How long its environment is; nothing where it has none yet, as while it
    /// becomes another program.
    environment: Option<u64>,
}

/// The flag of a thread that is the system's own.
const KERNEL_THREAD: u32 = 0x0020_0000;

impl Stat {
    /// What the system tells of the process of this number.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Self::parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    pub(super) fn parse(pid: i32, line: &[u8]) -> Option<Self> {
        // The program's name comes second, in parentheses, and may hold any
        // byte; nothing behind it holds a parenthesis.
        let rest = &line[line.iter().rposition(|byte| *byte == b')')? + 1..];
        let mut fields = std::str::from_utf8(rest).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let mut number = |skipped: usize| fields.nth(skipped)?.parse::<i64>().ok();
        let (parent, group, session) = (number(0)?, number(0)?, number(0)?);
        let flags = number(2)?;
        let (threads, started) = (number(10)?, number(1)?);
        let environment = match (number(27)?, number(0)?) {
            (_, 0) => None,
            (start, end) => u64::try_from(end - start).ok(),
        };
        Some(Self {
            pid,
            parent: i32::try_from(parent).ok()?,
            group: i32::try_from(group).ok()?,
            session: i32::try_from(session).ok()?,
            started: u64::try_from(started).ok()?,
            state,
            threads: u32::try_from(threads).unwrap_or(0),
            flags: u32::try_from(flags).unwrap_or(0),
            environment,
        })
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity { pid: self.pid, started: self.started }
    }

    /// Whether it may have more to show than an environment of this length. The
    /// dead and the threads of the system have none.
    pub(crate) fn may_show(&self, more_than: usize) -> bool {
        self.is_alive()
            && self.flags & KERNEL_THREAD == 0
            && self.environment != Some(more_than as u64)
    }

    /// Whether it runs. One whose first thread alone has ended looks dead and
    /// is not.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x') || self.threads > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with an environment from 500 to 600.
    fn line(state: &str, threads: u32) -> String {
        let memory = "9 ".repeat(27);
        format!(
            "42 (x) {state} 7 42 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 {threads} 0 1234 \
             {memory}500 600 0"
        )
    }

    #[test]
    fn a_name_with_parentheses_and_spaces_misleads_nobody() {
        let line = line("S", 3).replace("(x)", "(a) R 1 (b)");
        let stat = Stat::parse(42, line.as_bytes()).unwrap();
        assert_eq!((stat.parent, stat.group, stat.session), (7, 42, 9));
        assert_eq!((stat.started, stat.threads), (1234, 3));
        assert!(stat.is_alive());
    }

    #[test]
    fn who_becomes_another_program_may_show_more_and_a_thread_of_the_system_does_not() {
        let may_show = |flags: &str, environment: &str| {
            let line = line("R", 1).replace("4194560", flags).replace("500 600", environment);
            Stat::parse(42, line.as_bytes()).unwrap().may_show(100)
        };
        assert!(may_show("4194560", "0 0"));
        assert!(may_show("4194560", "500 601"));
        assert!(!may_show("4194560", "500 600"));
        assert!(!may_show("69238880", "0 0"));
        let own = Stat::of(std::process::id() as i32).unwrap();
        assert!(!own.may_show(std::fs::read("/proc/self/environ").unwrap().len()));
    }

    #[test]
    fn a_dead_first_thread_is_not_a_dead_process() {
        assert!(Stat::parse(42, line("Z", 2).as_bytes()).unwrap().is_alive());
        assert!(!Stat::parse(42, line("Z", 1).as_bytes()).unwrap().is_alive());
    }

    #[test]
    fn what_is_cut_short_is_nobody() {
        assert_eq!(Stat::parse(42, b"42 (x) S 7 42"), None);
        assert_eq!(Stat::parse(42, b""), None);
    }
}
