//! The identity of a process, which tells it from a later one of the same number.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use rustix::process::Signal;

use super::stat::Stat;

/// One process of this boot: its number, and when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) pid: i32,
    /// The start in ticks since the boot; 0 if the platform does not report it.
    pub(crate) started: u64,
}

/// The result of sending a signal.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
pub(crate) enum SignalResult {
    /// The process exists, and this watch reports its end.
    There(OwnedFd),
    /// It had ended.
    Gone,
    /// This process may not signal it.
    Refused,
    /// This process has no descriptor left for it.
    Unheld,
}

impl Identity {
    /// Returns the process that has a number now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Stat::of(pid).map(|stat| stat.identity())
    }

    /// Returns this process.
    pub(crate) fn own() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self::of(pid).unwrap_or(Self { pid, started: 0 })
    }

    /// Whether the process still runs.
    #[cfg(target_os = "linux")]
    fn is_alive(self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.identity() == self && stat.is_alive())
    }

    /// Sends a signal, or none, to this process and no other: a descriptor holds the
    /// process of this number before its identity is checked.
    #[cfg(target_os = "linux")]
    pub(crate) fn send(self, signal: Option<Signal>) -> SignalResult {
        use rustix::io::Errno;
        use rustix::process::{Pid, PidfdFlags, pidfd_open};

        let Some(pid) = Pid::from_raw(self.pid) else { return SignalResult::Gone };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => self.send_through(held, signal),
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => SignalResult::Gone,
            Err(error) if super::proc::is_shortage(error) => SignalResult::Unheld,
            Err(_) => SignalResult::Refused,
        }
    }

    #[cfg(target_os = "linux")]
    fn send_through(self, held: OwnedFd, signal: Option<Signal>) -> SignalResult {
        use rustix::io::Errno;
        use rustix::process::pidfd_send_signal;

        if !self.is_alive() {
            return SignalResult::Gone;
        }
        match signal.map_or(Ok(()), |signal| pidfd_send_signal(&held, signal)) {
            Ok(()) => SignalResult::There(held),
            Err(Errno::SRCH) => SignalResult::Gone,
            Err(_) => SignalResult::Refused,
        }
    }

    /// Has no effect: without descriptors only our own groups are signalled.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn send(self, _signal: Option<Signal>) -> SignalResult {
        SignalResult::Refused
    }
}

/// Returns the id of this boot of the machine; empty if the platform does not report it.
pub(crate) fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        let told = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        told.map(|told| told.trim().to_owned()).unwrap_or_default()
    })
}
