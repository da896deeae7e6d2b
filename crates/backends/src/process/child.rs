//! The main process of a task, as long as this one has not reaped it.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use wait4::Wait4;

use super::held::Held;
use super::identity::Identity;

/// A process that this one started as the leader of a group. While it is not
/// reaped nobody else can have its number or its group's. Dropping it kills
/// the group.
#[derive(Debug)]
pub(crate) struct Process {
    // Gone once it is reaped.
    child: Option<Child>,
    identity: Identity,
}

/// How a process ended, and what it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) cpu: Option<Duration>,
    pub(crate) peak: Option<u64>,
}

impl Process {
    /// Takes over a child that leads its group.
    pub(crate) fn leading(child: Child) -> Self {
        let pid = i32::try_from(child.id()).unwrap_or(0);
        let identity = Identity::of(pid).unwrap_or(Identity { pid, started: 0 });
        Self { child: Some(child), identity }
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Signals the whole group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        if self.child.is_some()
            && let Some(group) = Pid::from_raw(self.identity.pid)
        {
            // The group may be empty but for the one that is not reaped, and
            // that one may have left it.
            let _ = rustix::process::kill_process_group(group, signal);
            if rustix::process::getpgid(Some(group)).is_ok_and(|now| now != group) {
                let _ = rustix::process::kill_process(group, signal);
            }
        }
    }

    /// Asks the whole group to end, also what is stopped.
    pub(crate) fn ask_group(&self) {
        self.signal_group(Signal::TERM);
        self.signal_group(Signal::CONT);
    }

    /// Resolves once the process has ended. It stays to be reaped.
    pub(crate) fn exited(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let pid = Pid::from_raw(self.identity.pid).filter(|_| self.child.is_some());
        async move {
            let Some(pid) = pid else { return };
            match held(pid) {
                Some(held) => held.gone().await,
                None => exited_on_a_thread(pid).await,
            }
        }
    }

    /// Reaps the process, which has ended.
    pub(crate) fn reap(mut self) -> Spent {
        match self.child.take().map(|mut child| child.wait4()) {
            Some(Ok(used)) => Spent {
                status: Some(used.status),
                cpu: Some(used.rusage.utime.saturating_add(used.rusage.stime)),
                peak: Some(used.rusage.maxrss).filter(|peak| *peak > own_peak()),
            },
            // Somebody else in this program has reaped it.
            Some(Err(_)) | None => Spent { status: None, cpu: None, peak: None },
        }
    }
}

/// The most memory that this process has had. A process is counted from before
/// it became the command, when it shared our memory: what is no more than ours
/// tells nothing of the command.
fn own_peak() -> u64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let kilobytes = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |used| used.max_rss());
    // Elsewhere it is told in bytes.
    let unit = if cfg!(target_os = "linux") { 1024 } else { 1 };
    u64::try_from(kilobytes).unwrap_or(0) * unit
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal_group(Signal::KILL);
        if let Some(mut child) = self.child.take() {
            // It goes soon, but perhaps not at once.
            let reaper = std::thread::Builder::new().name("offshoot-reap".into());
            drop(reaper.spawn(move || child.wait()));
        }
    }
}

#[cfg(target_os = "linux")]
fn held(pid: Pid) -> Option<Held> {
    let descriptor = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    Held::new(descriptor.ok()?).ok()
}

#[cfg(not(target_os = "linux"))]
fn held(_pid: Pid) -> Option<Held> {
    None
}

/// Waits on a thread of its own, where nothing better is to be had.
async fn exited_on_a_thread(pid: Pid) {
    let (tell, told) = tokio::sync::oneshot::channel();
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options)
        {
        }
        let _ = tell.send(());
    };
    let thread = std::thread::Builder::new().name("offshoot-wait".into()).spawn(wait);
    if let Err(error) = thread {
        tracing::warn!(%error, "a command's end is noticed late: there is no thread to wait on");
    }
    // Without a thread this resolves at once, and whoever reaps waits.
    drop(told.await);
}
