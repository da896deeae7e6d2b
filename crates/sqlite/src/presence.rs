//! Whether the folder still names the files that are open.
//!
//! A file that is removed while it is open takes every write and every fsync
//! without an error, and all of it is gone when it is closed. So the names are
//! looked up again before a commit, and once more before it is answered. When
//! they lead elsewhere nothing is answered any more, even if they come back:
//! what was committed in that moment is in the file and not in memory.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_store::StoreError;

use crate::connection::{FILE, beside};
use crate::lock::Lock;

#[derive(Debug)]
pub(crate) struct Presence {
    folder: PathBuf,
    files: Vec<(PathBuf, Identity)>,
    lost: AtomicBool,
}

/// What tells a file from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Presence {
    /// What the folder names now. Its lock is held and its file is open.
    pub(crate) fn of(folder: &Path, lock: &Lock) -> Self {
        let file = folder.join(FILE);
        let log = beside(&file, "-wal");
        let held = lock.held().ok().as_ref().and_then(identity);
        let mut files: Vec<_> =
            held.map(|held| (lock.path().to_owned(), held)).into_iter().collect();
        // Without a file there is nothing to lose; the log comes and stays.
        for path in [file, log] {
            let found = std::fs::metadata(&path).ok().as_ref().and_then(identity);
            files.extend(found.map(|found| (path, found)));
        }
        Self { folder: folder.to_owned(), files, lost: AtomicBool::new(false) }
    }

    /// An error once the folder has led elsewhere. Looks at nothing.
    pub(crate) fn check_known(&self) -> Result<(), StoreError> {
        match self.lost.load(Ordering::Acquire) {
            true => Err(StoreError::Removed { path: self.folder.clone() }),
            false => Ok(()),
        }
    }

    /// An error if the folder leads elsewhere, now or before.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let here = |(path, known): &(PathBuf, Identity)| {
            std::fs::metadata(path).ok().as_ref().and_then(identity) == Some(*known)
        };
        if !self.files.iter().all(here) {
            self.lost.store(true, Ordering::Release);
        }
        self.check_known()
    }
}

#[cfg(unix)]
fn identity(file: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some(Identity { device: file.dev(), inode: file.ino() })
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn identity(_file: &Metadata) -> Option<Identity> {
    None
}
