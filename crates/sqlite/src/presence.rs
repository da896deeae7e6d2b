//! Whether the folder still names the files that are open.
//!
//! A file that is removed while it is open takes every write and every fsync
//! without an error, and all of it is gone when it is closed. So the names are
//! looked up again before a commit, and once more before it is answered. When
//! they lead elsewhere nothing is answered any more, even if they come back:
//! what was committed in that moment is in the file and not in memory. The same
//! holds once the file is found damaged.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use offshoot_store::StoreError;
use tokio::sync::watch;

use crate::connection::{FILE, beside};
use crate::lock::Lock;

#[derive(Debug)]
pub(crate) struct Presence {
    folder: PathBuf,
    database: PathBuf,
    files: Vec<(PathBuf, Identity)>,
    /// The longest that the database was seen. It never shrinks.
    longest: AtomicU64,
    failed: AtomicBool,
    /// Why the store serves nothing more.
    failure: watch::Sender<Option<StoreError>>,
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
        let database = folder.join(FILE);
        let log = beside(&database, "-wal");
        let held = lock.held().ok().as_ref().and_then(identity);
        let mut files: Vec<_> =
            held.map(|held| (lock.path().to_owned(), held)).into_iter().collect();
        // Without a file there is nothing to lose; the log comes and stays.
        for path in [database.clone(), log] {
            let found = std::fs::metadata(&path).ok().as_ref().and_then(identity);
            files.extend(found.map(|found| (path, found)));
        }
        Self {
            folder: folder.to_owned(),
            database,
            files,
            longest: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            failure: watch::Sender::default(),
        }
    }

    /// The error after which nothing is served. Looks at nothing.
    pub(crate) fn check_known(&self) -> Result<(), StoreError> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    /// An error if the folder leads elsewhere or its database has shrunk, now
    /// or before.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        for (path, known) in &self.files {
            let found = std::fs::metadata(path).ok();
            if found.as_ref().and_then(identity) != Some(*known) {
                self.fail(StoreError::Removed { path: self.folder.clone() });
                break;
            }
            let length = found.map_or(0, |found| found.len());
            if *path == self.database && self.longest.fetch_max(length, Ordering::AcqRel) > length {
                self.fail(self.corrupt("it was cut short while it was open"));
                break;
            }
        }
        self.check_known()
    }

    /// Ends the store with this error, unless another came first; whether it
    /// did not.
    pub(crate) fn fail(&self, error: StoreError) -> bool {
        let first = self.failure.send_if_modified(|failure| {
            let first = failure.is_none();
            failure.get_or_insert(error);
            first
        });
        self.failed.store(true, Ordering::Release);
        first
    }

    /// The error for a database that is damaged so.
    pub(crate) fn corrupt(&self, detail: &str) -> StoreError {
        StoreError::Corrupt { path: self.database.clone(), detail: detail.into() }
    }

    /// Follows why the store serves nothing more.
    pub(crate) fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        self.failure.subscribe()
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
