//! Free space on the disk, and the reserve that the daemon keeps for a full one.
//!
//! Deleting a session takes space: the store first writes the intent and the
//! changes to its log. Starting and ending a daemon take space, too. A file of zeros
//! in the data directory reserves that space, and is cut when the disk is full.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// The bytes of the reserve.
const SIZE: u64 = 1 << 20;

/// The bytes of it that a start or an end gets.
const SHARE: u64 = SIZE / 4;

/// The name of the file.
const FILE: &str = "reserve";

/// The reserve. Only the daemon that holds the data directory touches it.
#[derive(Debug)]
pub(crate) struct DiskReserve {
    path: PathBuf,
    /// The number of loans of all of it.
    loans: Mutex<usize>,
}

/// A loan of all of the reserve; dropping it fills the reserve again.
#[derive(Debug)]
pub(crate) struct ReserveLoan<'a>(&'a DiskReserve);

impl Drop for ReserveLoan<'_> {
    fn drop(&mut self) {
        *self.0.loans.lock() -= 1;
        self.0.fill();
    }
}

impl DiskReserve {
    /// The reserve in this data directory.
    pub(crate) fn new(data: &Path) -> Self {
        Self { path: data.join(FILE), loans: Mutex::default() }
    }

    /// Gives up a share if the disk is full; whether it did.
    pub(crate) fn give_share(&self) -> bool {
        let kept = self.kept();
        let needed = kept > 0 && self.free() < SHARE;
        needed && self.cut(kept.saturating_sub(SHARE))
    }

    /// Gives up all of it if the disk is full, for as long as the loan lasts.
    pub(crate) fn lend(&self) -> ReserveLoan<'_> {
        let mut loans = self.loans.lock();
        *loans += 1;
        if self.kept() > 0 && self.free() < SIZE {
            self.cut(0);
        }
        ReserveLoan(self)
    }

    /// Fills it as far as the disk has space, and leaves a share of that space to the
    /// next writes of the daemon.
    pub(crate) fn fill(&self) {
        let loans = self.loans.lock();
        let missing = SIZE.saturating_sub(self.kept()).min(self.free().saturating_sub(SHARE));
        if *loans > 0 || missing == 0 {
            return;
        }
        let filled = || -> std::io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options.append(true).create(true).mode(0o600).open(&self.path)?;
            std::io::copy(&mut std::io::repeat(0).take(missing), &mut file)?;
            file.flush()
        };
        if let Err(error) = filled() {
            // A part of the reserve is of use, too.
            tracing::warn!(%error, "no room could be kept for a full disk");
        }
    }

    fn kept(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |found| found.len())
    }

    fn free(&self) -> u64 {
        self.path.parent().and_then(free_bytes).unwrap_or(u64::MAX)
    }

    fn cut(&self, to: u64) -> bool {
        let cut = OpenOptions::new().write(true).open(&self.path).and_then(|file| file.set_len(to));
        match cut {
            Ok(()) => {
                tracing::warn!(left = to, "the disk is full: some of the reserve was given up");
                true
            }
            Err(error) => {
                tracing::warn!(%error, "the reserve could not be given up");
                false
            }
        }
    }
}

/// The bytes that are free for this user on the disk of this path.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_filled_once_every_loan_has_ended() {
        let data = tempfile::tempdir().unwrap();
        let reserve = DiskReserve::new(data.path());
        assert!(!reserve.give_share());
        reserve.fill();
        assert_eq!(reserve.kept(), SIZE);
        reserve.cut(0);
        let (one, other) = (reserve.lend(), reserve.lend());
        drop(one);
        reserve.fill();
        assert_eq!(reserve.kept(), 0, "another loan lasts");
        drop(other);
        assert_eq!(reserve.kept(), SIZE);
    }
}
