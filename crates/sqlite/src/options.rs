//! The options of a store.

use std::path::PathBuf;

/// The default for [`StoreOptions::checked_first`]. The check of such a file
/// takes some hundredths of a second.
const CHECKED_FIRST: u64 = 64 << 20;

/// The location of a store, and how to open it.
#[derive(Clone, Debug)]
pub(crate) struct StoreOptions {
    /// The data directory.
    pub(crate) path: PathBuf,
    /// The maximum number of batches in one transaction.
    pub(crate) group: usize,
    /// The number of reader threads.
    pub(crate) readers: usize,
    /// The maximum number of pages in the file.
    pub(crate) pages: Option<u32>,
    /// The maximum length of a file that is checked before it is used.
    pub(crate) checked_first: u64,
    pub(crate) storage: Storage,
}

/// The storage of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Disk,
    Memory,
}

impl StoreOptions {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            group: 1_024,
            readers: 2,
            pages: None,
            checked_first: CHECKED_FIRST,
            storage: Storage::Disk,
        }
    }
}
