//! Who a process is, so that a later one of the same number is not taken for
//! it.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::process::Signal;

use super::stat::Stat;

/// One process of this boot: its number, and when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) pid: i32,
    /// In ticks since the boot; 0 where the platform does not tell.
    pub(crate) started: u64,
}

/// What became of a signal.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
pub(crate) enum Reached {
    /// The process is there, and this tells when it is not any more.
    There(OwnedFd),
    /// It had gone.
    Gone,
    /// It is not ours to end.
    Refused,
    /// This process has no descriptor left to hold it by.
    Unheld,
}

impl Identity {
    /// The process that has this number now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Stat::of(pid).map(|stat| stat.identity())
    }

    /// This process.
    pub(crate) fn own() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self::of(pid).unwrap_or(Self { pid, started: 0 })
    }

    /// Whether the process still runs.
    #[cfg(target_os = "linux")]
    fn is_alive(self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.identity() == self && stat.is_alive())
    }

    /// Sends a signal, or none, to this process and no other: whoever has the
    /// number is held by a descriptor before it is looked at.
    #[cfg(target_os = "linux")]
    pub(crate) fn send(self, signal: Option<Signal>) -> Reached {
        use rustix::io::Errno;
        use rustix::process::{Pid, PidfdFlags, pidfd_open};

        let Some(pid) = Pid::from_raw(self.pid) else { return Reached::Gone };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => self.send_through(held, signal),
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Reached::Gone,
            Err(error) if super::proc::is_shortage(error) => Reached::Unheld,
            Err(_) => Reached::Refused,
        }
    }

    #[cfg(target_os = "linux")]
    fn send_through(self, held: OwnedFd, signal: Option<Signal>) -> Reached {
        use rustix::io::Errno;
        use rustix::process::pidfd_send_signal;

        if !self.is_alive() {
            return Reached::Gone;
        }
        match signal.map_or(Ok(()), |signal| pidfd_send_signal(&held, signal)) {
            Ok(()) => Reached::There(held),
            Err(Errno::SRCH) => Reached::Gone,
            Err(_) => Reached::Refused,
        }
    }

    /// Where nobody can be held, nobody but a group of our own is signalled.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn send(self, _signal: Option<Signal>) -> Reached {
        Reached::Refused
    }
}

/// Tells this boot of the machine from any other; empty where the platform
/// does not tell.
pub(crate) fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let told = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        told.map(|told| told.trim().to_owned()).unwrap_or_default()
    })
}
