//! The index of the log, SQLite's `-shm` file, which counts the frames of the log.
//!
//! A commit is durable in the log before the index counts it. After a process was killed,
//! the log must therefore have all frames that the index counts.
//!
//! The index is never synced. After a restart of the machine it may be from any earlier
//! moment. Each log has its own salts, so an index with other salts belongs to another log
//! and is ignored.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::{WalChecksum, fill};

/// The length of the index header. The index begins with two copies of it.
const HEADER: usize = 48;

/// The length of both headers and of the number of merged frames after them.
const LENGTH: usize = 2 * HEADER + 4;

/// The only version of the index format so far.
const VERSION: u32 = 3_007_000;

/// The content of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WalIndex {
    /// The number of committed frames in the log.
    pub(super) frames: u32,
    /// The salts of the log.
    pub(super) salts: [u8; 8],
    /// The number of frames that are also in the database file.
    merged: u32,
}

impl WalIndex {
    /// Reads the index. Returns `None` if it is missing or not completely written.
    pub(super) fn read(path: &Path) -> std::io::Result<Option<Self>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = [0; LENGTH];
        if !fill(&mut file, &mut bytes)? {
            return Ok(None);
        }
        Ok(Self::of(&bytes))
    }

    fn of(bytes: &[u8; LENGTH]) -> Option<Self> {
        let (header, copy) = bytes[..2 * HEADER].split_at(HEADER);
        let mut sum = WalChecksum { first: 0, second: 0, big: cfg!(target_endian = "big") };
        sum.add(&header[..40]);
        let whole = header == copy
            && native(header, 0) == VERSION
            && header[12] == 1
            && (native(header, 40), native(header, 44)) == (sum.first, sum.second);
        let mut salts = [0; 8];
        salts.copy_from_slice(&header[32..40]);
        whole.then(|| Self { frames: native(header, 16), salts, merged: native(bytes, 2 * HEADER) })
    }

    /// Whether the log has commits that are not in the database file.
    pub(super) fn unmerged(self) -> bool {
        self.merged < self.frames
    }
}

/// A number in the byte order of the machine.
fn native(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
