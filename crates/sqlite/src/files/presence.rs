//! Checks that the paths of the data directory still lead to the open files.
//!
//! Writes and fsyncs of a deleted file succeed, and its data is lost when it is closed. So
//! the paths are checked before each commit and again before its answer. Once a check
//! fails, the store stops answering for good, because the file may contain commits that
//! memory does not. The same holds once the file is found damaged.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use offshoot_store::StoreError;
use tokio::sync::watch;

use crate::files::connection::{FILE, beside};
use crate::files::lock::Lock;

#[derive(Debug)]
pub(crate) struct Presence {
    dir: PathBuf,
    database: PathBuf,
    files: Vec<(PathBuf, FileIdentity)>,
    /// The greatest observed length of the database. It never shrinks.
    longest: AtomicU64,
    failed: AtomicBool,
    /// The error after which the store stopped serving.
    failure: watch::Sender<Option<StoreError>>,
}

/// Identifies a file independently of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl Presence {
    /// Records the current files. The lock is held and the database is open.
    pub(crate) fn of(dir: &Path, lock: &Lock) -> Self {
        let database = dir.join(FILE);
        let log = beside(&database, "-wal");
        let held = lock.held().ok().as_ref().and_then(identity);
        let mut files: Vec<_> =
            held.map(|held| (lock.path().to_owned(), held)).into_iter().collect();
        // A missing file cannot be lost. The log is created at opening and stays.
        for path in [database.clone(), log] {
            let found = std::fs::metadata(&path).ok().as_ref().and_then(identity);
            files.extend(found.map(|found| (path, found)));
        }
        Self {
            dir: dir.to_owned(),
            database,
            files,
            longest: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            failure: watch::Sender::default(),
        }
    }

    /// The error after which the store stopped serving, without a new check.
    pub(crate) fn check_known(&self) -> Result<(), StoreError> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    /// Checks the paths and the length of the database.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        for (path, known) in &self.files {
            let found = std::fs::metadata(path).ok();
            if found.as_ref().and_then(identity) != Some(*known) {
                self.fail(StoreError::Removed { path: self.dir.clone() });
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

    /// Stops the store with this error. Returns whether it is the first error.
    pub(crate) fn fail(&self, error: StoreError) -> bool {
        let first = self.failure.send_if_modified(|failure| {
            let first = failure.is_none();
            failure.get_or_insert(error);
            first
        });
        self.failed.store(true, Ordering::Release);
        first
    }

    /// The error for a damaged database.
    pub(crate) fn corrupt(&self, detail: &str) -> StoreError {
        StoreError::Corrupt { path: self.database.clone(), detail: detail.into() }
    }

    /// A receiver for the error after which the store stops serving.
    pub(crate) fn failure(&self) -> watch::Receiver<Option<StoreError>> {
        self.failure.subscribe()
    }
}

#[cfg(unix)]
fn identity(file: &Metadata) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt;
    Some(FileIdentity { device: file.dev(), inode: file.ino() })
}

/// Other systems do not allow deleting an open file.
#[cfg(not(unix))]
fn identity(_file: &Metadata) -> Option<FileIdentity> {
    None
}
