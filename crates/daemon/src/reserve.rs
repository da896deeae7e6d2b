//! Room that the daemon keeps on the disk for a day when there is none.
//!
//! To delete a session takes room: the intent and what is changed go into the
//! store's log first. So does a daemon that starts or ends. A file of zeros in
//! the data folder keeps that room, and is given up when the disk is full.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// How much is kept.
const SIZE: u64 = 1 << 20;

/// How much of it a start or an end gets.
const SHARE: u64 = SIZE / 4;

/// The file.
const FILE: &str = "reserve";

/// The room that is kept. Only who holds the folder touches it.
#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
    /// How many have all of it.
    lent: Mutex<usize>,
}

/// All of the reserve, until it is given back.
#[derive(Debug)]
pub(crate) struct Lent<'a>(&'a Reserve);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        *self.0.lent.lock() -= 1;
        self.0.fill();
    }
}

impl Reserve {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE), lent: Mutex::default() }
    }

    /// Gives up a share if the disk is full; whether it did.
    pub(crate) fn share(&self) -> bool {
        let kept = self.kept();
        let needed = kept > 0 && self.free() < SHARE;
        needed && self.cut(kept.saturating_sub(SHARE))
    }

    /// Gives up all of it if the disk is full, as long as somebody deletes.
    pub(crate) fn lend(&self) -> Lent<'_> {
        let mut lent = self.lent.lock();
        *lent += 1;
        if self.kept() > 0 && self.free() < SIZE {
            self.cut(0);
        }
        Lent(self)
    }

    /// Fills it up again as far as there is room, and leaves a share of that to
    /// the daemon's next writes.
    pub(crate) fn fill(&self) {
        let lent = self.lent.lock();
        let missing = SIZE.saturating_sub(self.kept()).min(self.free().saturating_sub(SHARE));
        if *lent > 0 || missing == 0 {
            return;
        }
        let filled = || -> std::io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options.append(true).create(true).mode(0o600).open(&self.path)?;
            std::io::copy(&mut std::io::repeat(0).take(missing), &mut file)?;
            file.flush()
        };
        if let Err(error) = filled() {
            // What there is of it is good for something.
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

/// How many bytes are free for us on the disk that this is on.
pub(crate) fn free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_filled_once_and_given_back_after_it_was_lent() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::in_folder(folder.path());
        assert!(!reserve.share());
        reserve.fill();
        assert_eq!(reserve.kept(), SIZE);
        reserve.cut(0);
        let (one, other) = (reserve.lend(), reserve.lend());
        drop(one);
        reserve.fill();
        assert_eq!(reserve.kept(), 0, "somebody has it");
        drop(other);
        assert_eq!(reserve.kept(), SIZE);
    }
}
