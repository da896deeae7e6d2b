//! The umask of a new process.
//!
//! A process inherits its umask, and no other process can set it. So the thread that
//! starts the process sets its own umask for that moment. On Linux a thread can have an
//! umask of its own, which no other thread sees.

use std::io;

#[cfg(target_os = "linux")]
pub(crate) use linux::under;

#[cfg(target_os = "linux")]
mod linux {
    use super::io;
    use nix::sched::{CloneFlags, unshare};
    use rustix::fs::Mode;
    use rustix::process::umask;

    /// Restores this thread's umask.
    struct UmaskGuard(Mode);

    impl Drop for UmaskGuard {
        fn drop(&mut self) {
            umask(self.0);
        }
    }

    /// Runs `work` with this umask, or with that of this process.
    pub(crate) fn under<T>(
        mask: Option<u32>,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(mask) = mask else { return work() };
        // From here on this thread has its own working directory and umask.
        unshare(CloneFlags::CLONE_FS)?;
        let _restored = UmaskGuard(umask(Mode::from_raw_mode(mask)));
        work()
    }
}

/// Other systems use the umask of the process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn under<T>(_mask: Option<u32>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    work()
}
