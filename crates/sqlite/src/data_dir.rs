//! Data directories: the public way to open, check and repair a store.

use std::path::PathBuf;
use std::sync::Arc;

use offshoot_store::{OpenStore, ReadFuture, Store, StoreError};

use crate::files::inspect::{self, inspect};
use crate::options::{Storage, StoreOptions};
use crate::repair::{self, RepairResult};
use crate::store::Sqlite;

/// A data directory with a store that is not open yet.
///
/// Opening creates the directory if it is missing, readable by its owner only.
#[derive(Clone, Debug)]
#[must_use = "a data directory does nothing until it is opened"]
pub struct DataDir(StoreOptions);

impl Sqlite {
    /// The store in the directory at `path`, to be opened.
    ///
    /// A relative path is resolved when the store is opened. All spellings of
    /// a path name the same store.
    pub fn at(path: impl Into<PathBuf>) -> DataDir {
        DataDir(StoreOptions::new(path.into()))
    }
}

impl DataDir {
    /// The maximum number of batches that share a transaction, and so an
    /// fsync. The default is 1,024.
    pub fn group(mut self, most: usize) -> Self {
        self.0.group = most.max(1);
        self
    }

    /// The number of threads that read data that is not in memory. The default
    /// is two.
    pub fn readers(mut self, threads: usize) -> Self {
        self.0.readers = threads.max(1);
        self
    }

    /// The maximum number of 4 KiB pages in the file. A commit that needs more
    /// is refused as on a full disk. There is no default limit.
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.0.pages = Some(pages);
        self
    }

    /// The maximum length, in bytes, of a file that is checked before it is
    /// used after an unclean end. The default is 64 MiB. A longer file is
    /// checked while it is in use, because the check reads all of it.
    pub fn check_first(mut self, longest: u64) -> Self {
        self.0.checked_first = longest;
        self
    }

    /// Checks that the directory has a store that this version can open, or
    /// none. Reads only the header of the file and changes nothing.
    pub fn look(&self) -> Result<(), StoreError> {
        inspect(&self.0.path).map(|_| ())
    }

    /// Whether the last process that held the directory ended without closing it. If it
    /// did, the files of tasks without a record may be all that is left of these tasks.
    pub fn ended_uncleanly(&self) -> Result<bool, StoreError> {
        inspect::ended_uncleanly(&self.0.path)
    }

    /// Reads all data of a store that no process holds, and reports damage.
    /// Returns the number of missing blobs. Changes nothing.
    pub fn check(&self) -> Result<u64, StoreError> {
        repair::check(&self.0.path)
    }

    /// Saves what can be read of a damaged store into a new one. Refused while
    /// a process holds the data directory.
    pub async fn repair(&self) -> Result<RepairResult, StoreError> {
        repair::repair(&self.0).await
    }

    /// The report of the latest repair that wrote one.
    pub fn latest_report(&self) -> Option<PathBuf> {
        repair::latest_report(&self.0.path)
    }

    /// Keeps the records in memory instead of the file, to measure the cost of
    /// the disk. Nothing survives a close.
    #[doc(hidden)]
    pub fn in_memory(mut self) -> Self {
        self.0.storage = Storage::Memory;
        self
    }
}

impl OpenStore for DataDir {
    /// Opens the store on its own thread.
    fn open_store(self) -> ReadFuture<Arc<dyn Store>> {
        crate::open::open(self.0)
    }
}
