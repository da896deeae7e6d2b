//! Waiting until the process that holds a data directory listens or gives it up.
//!
//! Only a daemon that is started finds out for certain which process holds the
//! directory. A daemon that fails costs a process. So the client starts the next one
//! when the holder is gone, or after a pause that grows.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::error::Error;

/// The longest shutdown of a daemon: it stops its commands, writes how they ended and
/// closes its store. A client that wants the next daemon waits a little longer.
pub const LONGEST_SHUTDOWN: Duration = Duration::from_secs(55);

/// How much longer a client waits for a shutdown.
const ALLOWANCE: Duration = Duration::from_secs(5);

/// Timeout for a holder whose name is not that of a daemon.
const STRANGERS_PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(20);

/// The first and the longest pause between two starts of a daemon.
const FIRST: Duration = Duration::from_millis(40);
const LONGEST: Duration = Duration::from_secs(2);

/// The wait after which the user gets a message.
const MESSAGE_AFTER: Duration = Duration::from_secs(3);

/// Passes a message to the user who waits.
pub(crate) type WaitMessage = fn(&str);

/// A wait for a data directory that another process may hold.
#[derive(Debug)]
pub(crate) struct StartupWait {
    began: Instant,
    /// The time since when a process holds it that is no daemon by its name.
    strange: Option<Instant>,
    holder: Option<Holder>,
    next: Instant,
    pause: Duration,
    message: Option<WaitMessage>,
}

#[derive(Debug)]
struct Holder {
    name: String,
    /// Its process, if it was alive when the client met it.
    process: Option<Process>,
}

impl StartupWait {
    pub(crate) fn new(message: Option<WaitMessage>) -> Self {
        let began = Instant::now();
        Self { began, strange: None, holder: None, next: began, pause: FIRST, message }
    }

    /// Whether to try to start a daemon now.
    pub(crate) fn is_due(&self) -> bool {
        let process = self.holder.as_ref().and_then(|holder| holder.process.as_ref());
        Instant::now() >= self.next || process.is_some_and(Process::is_gone)
    }

    /// Notes the holder of the directory. An error if it has held it for too long.
    pub(crate) fn meet(&mut self, holder: &str, data: &Path) -> Result<(), Error> {
        // A daemon has no name before it has signed the lock.
        let over = if holder.contains("(offshoot") {
            self.strange = None;
            self.began.elapsed() > LONGEST_SHUTDOWN + ALLOWANCE
        } else {
            self.strange.get_or_insert_with(Instant::now).elapsed() > STRANGERS_PATIENCE
        };
        if over {
            return Err(Error::Locked { data: data.to_owned(), holder: holder.to_owned() });
        }
        let process = pid_of(holder).and_then(Process::of).filter(|process| !process.is_gone());
        self.holder = Some(Holder { name: holder.to_owned(), process });
        self.next = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST);
        Ok(())
    }

    /// Pauses, and tells the user once for which process the client waits.
    pub(crate) async fn pause(&mut self, data: &Path) {
        if let Some(holder) = &self.holder
            && self.began.elapsed() > MESSAGE_AFTER
            && let Some(message) = self.message.take()
        {
            let data = data.display();
            message(&format!("waiting for {}, which has {data} and is not ready", holder.name));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The process id in the name of a holder.
fn pid_of(holder: &str) -> Option<Pid> {
    let number = holder.strip_prefix("process ")?.split(' ').next()?;
    Pid::from_raw(number.parse().ok()?)
}

/// A process that is waited for, held so that its id stays its own.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Process(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Process {
    fn of(pid: Pid) -> Option<Self> {
        use rustix::process::{PidfdFlags, pidfd_open};
        pidfd_open(pid, PidfdFlags::empty()).ok().map(Self)
    }

    /// Whether it has ended, even if its parent has not collected it.
    fn is_gone(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct Process(Pid);

#[cfg(not(target_os = "linux"))]
impl Process {
    fn of(pid: Pid) -> Option<Self> {
        Some(Self(pid))
    }

    fn is_gone(&self) -> bool {
        // Another user's may not be signalled, and lives.
        rustix::process::test_kill_process(self.0) == Err(rustix::io::Errno::SRCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(times: u32, holder: &str) -> StartupWait {
        let mut wait = StartupWait::new(None);
        for _ in 0..times {
            wait.meet(holder, Path::new("/data")).unwrap();
        }
        wait
    }

    #[test]
    fn a_daemon_is_not_started_at_each_look_while_the_holder_lives() {
        assert!(StartupWait::new(None).is_due());
        let holder = format!("process {} (offshoot, since ever)", std::process::id());
        assert!(!met(9, &holder).is_due());
        assert_eq!(met(9, &holder).pause, LONGEST);
    }

    #[test]
    fn a_holder_that_has_gone_is_followed_at_once() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let wait = met(9, &format!("process {} (offshoot, since ever)", child.id()));
        assert!(!wait.is_due());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(wait.is_due());
    }

    #[test]
    fn the_name_of_a_dead_holder_shortens_no_wait() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let holder = format!("process {} (offshoot, since ever)", child.id());
        assert!(!met(9, &holder).is_due());
        assert!(!met(9, "another process").is_due());
    }
}
