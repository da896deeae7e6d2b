//! The main process of a task, until it is reaped.

use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use wait4::Wait4;

use super::identity::Identity;
use super::process_watch::ProcessWatch;

/// Pause between two checks of a process that cannot be waited for.
const AGAIN: Duration = Duration::from_millis(20);

/// A process that this one started as the leader of a group. Until it is reaped no other
/// process can have its number or its group's. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Process {
    // `None` once it is reaped.
    child: Option<Child>,
    identity: Identity,
    signals: SignalRoute,
    // Opened when the process starts, so that its end is noticed at any limit of resources.
    held: Option<OwnedFd>,
}

/// The route of the signals to the group of the main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalRoute {
    /// To the program and its processes in that group.
    Direct,
    /// To a process that passes them on to the program, which is its child and
    /// leads a group of its own.
    PassedOn,
}

/// The exit status of a process, and the resources it used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitUsage {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) cpu: Option<Duration>,
    pub(crate) peak: Option<u64>,
}

impl Process {
    /// Takes over a child that leads its group.
    pub(crate) fn leading(child: Child, signals: SignalRoute) -> Self {
        let pid = i32::try_from(child.id()).unwrap_or(0);
        let identity = Identity::of(pid).unwrap_or(Identity { pid, started: 0 });
        Self { child: Some(child), identity, signals, held: Pid::from_raw(pid).and_then(hold) }
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns the route of the signals to its group.
    pub(crate) fn signals(&self) -> SignalRoute {
        self.signals
    }

    /// Signals the whole group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        if self.child.is_some()
            && let Some(group) = Pid::from_raw(self.identity.pid)
        {
            // The group may be empty except for the unreaped process, which may have left it.
            let _ = rustix::process::kill_process_group(group, signal);
            if rustix::process::getpgid(Some(group)).is_ok_and(|now| now != group) {
                let _ = rustix::process::kill_process(group, signal);
            }
        }
    }

    /// Asks the whole group to end, including stopped processes.
    pub(crate) fn ask_group(&self) {
        self.signal_group(Signal::TERM);
        self.signal_group(Signal::CONT);
    }

    /// Waits until the process has ended. It is not reaped.
    pub(crate) fn exited(&mut self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let pid = Pid::from_raw(self.identity.pid).filter(|_| self.child.is_some());
        let held = self.held.take();
        async move {
            let Some(pid) = pid else { return };
            match held.and_then(|held| ProcessWatch::new(held).ok()) {
                Some(held) => held.gone().await,
                None => exited_on_a_thread(pid).await,
            }
        }
    }

    /// Reaps the process, which has ended.
    pub(crate) fn reap(mut self) -> ExitUsage {
        match self.child.take().map(|mut child| child.wait4()) {
            Some(Ok(used)) => ExitUsage {
                status: Some(used.status),
                cpu: Some(used.rusage.utime.saturating_add(used.rusage.stime)),
                peak: Some(used.rusage.maxrss).filter(|peak| *peak > own_peak()),
            },
            // Another part of this program has reaped it.
            Some(Err(_)) | None => ExitUsage { status: None, cpu: None, peak: None },
        }
    }
}

/// Returns the peak memory of this process.
///
/// The count of a process begins before it becomes the command, while it shares our memory.
/// A value no larger than ours therefore shows nothing about the command.
fn own_peak() -> u64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let kilobytes = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |used| used.max_rss());
    // Other systems report bytes.
    let unit = if cfg!(target_os = "linux") { 1024 } else { 1 };
    u64::try_from(kilobytes).unwrap_or(0) * unit
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal_group(Signal::KILL);
        if let Some(mut child) = self.child.take() {
            // It may take a moment to end.
            let reaper = std::thread::Builder::new().name("offshoot-reap".into());
            drop(reaper.spawn(move || child.wait()));
        }
    }
}

#[cfg(target_os = "linux")]
fn hold(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn hold(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Waits on a thread of its own, for systems without process descriptors.
async fn exited_on_a_thread(pid: Pid) {
    let (tell, told) = tokio::sync::oneshot::channel();
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
        let _ = tell.send(());
    };
    let thread = std::thread::Builder::new().name("offshoot-wait".into()).spawn(wait);
    match thread {
        Ok(_) => drop(told.await),
        // Neither a descriptor nor a thread is available, so the process is polled.
        Err(_) => exited_by_polling(pid).await,
    }
}

async fn exited_by_polling(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while let Ok(None) | Err(Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {
        tokio::time::sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_is_noticed_without_a_descriptor_and_without_a_thread() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let exited = tokio::spawn(exited_by_polling(pid));
        tokio::task::yield_now().await;
        assert!(!exited.is_finished());
        drop(child.stdin.take());
        exited.await.unwrap();
        assert!(child.wait().unwrap().success(), "its status is still there");
    }
}
