//! Waits until the process of a daemon is gone.

use std::io;

use offshoot_client::DaemonDir;

/// A process to wait for.
#[cfg(target_os = "linux")]
pub(super) struct Process(Option<std::os::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Process {
    /// Opens the process with this number, if it exists.
    pub(super) fn of(pid: u32, _place: &DaemonDir) -> Self {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Self(pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()))
    }

    /// Blocks until the process is gone.
    pub(super) fn gone(self) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, poll};
        let Some(process) = self.0 else { return Ok(()) };
        loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The data directory's lock, which is free once the process is gone.
#[cfg(not(target_os = "linux"))]
pub(super) struct Process(std::path::PathBuf);

#[cfg(not(target_os = "linux"))]
impl Process {
    /// Refers to the process that holds this directory.
    pub(super) fn of(_pid: u32, place: &DaemonDir) -> Self {
        Self(place.data().join("lock"))
    }

    /// Blocks until the process is gone.
    pub(super) fn gone(self) -> io::Result<()> {
        match std::fs::File::open(&self.0) {
            Ok(lock) => lock.lock_shared(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}
