//! Where a store is, and how to open it.

use std::path::PathBuf;
use std::sync::Arc;

use offshoot_store::{OpenStore, Read, Store, StoreError};

use crate::inspect::inspect;

/// The longest file that is checked before the store is used: some hundredths
/// of a second.
const CHECKED_FIRST: u64 = 64 << 20;

/// A data folder, not opened yet.
///
/// The folder is made if it is not there, readable by its owner only.
#[derive(Clone, Debug)]
#[must_use = "a folder does nothing until it is opened"]
pub struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) group: usize,
    pub(crate) readers: usize,
    pub(crate) pages: Option<u32>,
    pub(crate) checked_first: u64,
    pub(crate) medium: Medium,
}

/// What the records are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    Disk,
    Memory,
}

impl Folder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            group: 1_024,
            readers: 2,
            pages: None,
            checked_first: CHECKED_FIRST,
            medium: Medium::Disk,
        }
    }

    /// How many batches may share one transaction, and so one fsync; 1,024
    /// unless said. One is one transaction for each.
    pub fn group(mut self, most: usize) -> Self {
        self.group = most.max(1);
        self
    }

    /// How many threads read what is not in memory; two unless said.
    pub fn readers(mut self, threads: usize) -> Self {
        self.readers = threads.max(1);
        self
    }

    /// The most pages of 4 KiB the file may have; past that a commit is
    /// refused as on a full disk. No limit unless said.
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.pages = Some(pages);
        self
    }

    /// The longest file, in bytes, that is checked before the store is used when
    /// the last process did not close it; 64 MiB unless said. A longer one is
    /// checked beside its use, because the check reads all of it.
    pub fn check_first(mut self, longest: u64) -> Self {
        self.checked_first = longest;
        self
    }

    /// Whether the folder's file can be a store that this version opens, or
    /// there is none yet. Only its header is read, and nothing is changed.
    pub fn look(&self) -> Result<(), StoreError> {
        inspect(&self.path).map(|_| ())
    }

    /// Keeps the records in memory instead of in the file: what a measurement
    /// of the disk is compared with. Nothing survives.
    #[doc(hidden)]
    pub fn in_memory(mut self) -> Self {
        self.medium = Medium::Memory;
        self
    }
}

impl OpenStore for Folder {
    /// Opens the folder on a thread of its own; the caller only waits for the
    /// answer.
    fn open_store(self) -> Read<Arc<dyn Store>> {
        crate::open::open(self)
    }
}
