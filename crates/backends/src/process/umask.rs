//! Which permissions the files of a process do not get.
//!
//! A process takes that over from whoever starts it, and nobody can give it. So
//! the thread that starts it has it for that moment: on Linux a thread can have
//! one of its own, and nobody else notices.

use std::io;

#[cfg(target_os = "linux")]
pub(crate) use linux::under;

#[cfg(target_os = "linux")]
mod linux {
    use super::io;
    use nix::sched::{CloneFlags, unshare};
    use rustix::fs::Mode;
    use rustix::process::umask;

    /// Puts this thread's umask back.
    struct Restored(Mode);

    impl Drop for Restored {
        fn drop(&mut self) {
            umask(self.0);
        }
    }

    /// Does `work` with this umask, or with the usual one if nobody says.
    pub(crate) fn under<T>(
        mask: Option<u32>,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(mask) = mask else { return work() };
        // Folder and umask belong to this thread alone from here on.
        unshare(CloneFlags::CLONE_FS)?;
        let _restored = Restored(umask(Mode::from_raw_mode(mask)));
        work()
    }
}

/// Elsewhere it is this process's own.
#[cfg(not(target_os = "linux"))]
pub(crate) fn under<T>(_mask: Option<u32>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    work()
}
