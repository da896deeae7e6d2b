//! File systems that answer without waiting for another process.
//!
//! A file system that a server or another process serves (over the network, or by
//! FUSE) can delay a call without end. Even opening a file whose content is in memory
//! can wait. Work on an asynchronous thread is therefore limited to file systems that
//! a blocking thread has found to be local.

use std::os::fd::BorrowedFd;

use parking_lot::RwLock;

/// The devices of the local file systems found so far.
#[derive(Debug, Default)]
pub(super) struct Local(RwLock<Vec<(u32, u32)>>);

/// How many are kept.
const MOST: usize = 64;

/// Those that keep what they hold on disks of this machine or in its memory: ext,
/// XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs.
#[cfg(target_os = "linux")]
const KINDS: [u64; 7] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e, 0x0102_1994];

#[cfg(target_os = "linux")]
impl Local {
    /// Whether an open file is on a known local file system.
    ///
    /// The call does not block: the kernel already has the number of the device.
    pub(super) fn holds(&self, fd: BorrowedFd<'_>) -> bool {
        use rustix::fs::{AtFlags, StatxFlags, statx};

        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let Ok(found) = statx(fd, "", flags, StatxFlags::TYPE) else { return false };
        self.0.read().contains(&(found.stx_dev_major, found.stx_dev_minor))
    }

    /// Looks at the file system of what is open, which may take as long as any
    /// other look at it.
    pub(super) fn learn(&self, fd: BorrowedFd<'_>) {
        use rustix::fs::{fstatfs, major, minor};

        let Ok(stat) = rustix::fs::fstat(fd) else { return };
        let device = (major(stat.st_dev), minor(stat.st_dev));
        if self.0.read().contains(&device) {
            return;
        }
        let kind = fstatfs(fd).map(|found| found.f_type as u64 & 0xffff_ffff);
        if kind.is_ok_and(|kind| KINDS.contains(&kind)) {
            let mut devices = self.0.write();
            if devices.len() >= MOST {
                devices.clear();
            }
            devices.push(device);
        }
    }
}

/// Other systems have no check that cannot block.
#[cfg(not(target_os = "linux"))]
impl Local {
    pub(super) fn holds(&self, _fd: BorrowedFd<'_>) -> bool {
        false
    }

    pub(super) fn learn(&self, _fd: BorrowedFd<'_>) {}
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn only_what_is_known_to_be_this_machines_own_is_local() {
        let local = Local::default();
        let made_up = File::open("/proc").unwrap();
        local.learn(made_up.as_fd());
        assert!(!local.holds(made_up.as_fd()));
        // A file system in the memory of this machine.
        let memory = File::open("/dev/shm").unwrap();
        assert!(!local.holds(memory.as_fd()), "the file system is still unknown");
        local.learn(memory.as_fd());
        assert!(local.holds(memory.as_fd()));
    }
}
