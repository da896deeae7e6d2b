//! What an error of SQLite means to a caller.

use std::io::ErrorKind;
use std::path::Path;

use offshoot_store::{Conflict, StoreError};
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

use crate::codec::Damaged;

/// What to do about a folder that cannot be written to.
const READ_ONLY: &str = "it is read-only for this process; make it writable, or choose another";

/// An error of the file system while a folder is opened, to whoever opens it.
pub(crate) fn refused(path: &Path, error: &std::io::Error) -> StoreError {
    let detail = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => READ_ONLY,
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file is in its way; name a folder"
        }
        _ => return StoreError::NotRead(format!("{}: {error}", path.display()).into()),
    };
    StoreError::Unusable { path: path.into(), detail: detail.into() }
}

/// Why a batch was not written.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A precondition failed; nothing of the batch was written.
    Conflict(Conflict),
    /// The store failed; the transaction must be rolled back.
    Fault(Fault),
}

/// Why the store failed.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Damaged(Damaged),
    /// What a check of the file found.
    Broken(String),
}

impl From<Conflict> for Refusal {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fault(Fault::Sql(error))
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Damaged> for Fault {
    fn from(damaged: Damaged) -> Self {
        Self::Damaged(damaged)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::Damaged(damaged) => damaged.fmt(f),
            Self::Broken(problems) => problems.fmt(f),
        }
    }
}

impl Fault {
    /// Whether there is no room on the disk.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Sql(error) => {
                // The shared index of the WAL fails to grow for no other reason.
                error.sqlite_error_code() == Some(ErrorCode::DiskFull)
                    || error
                        .sqlite_error()
                        .is_some_and(|error| error.extended_code == SQLITE_IOERR_SHMSIZE)
            }
            Self::Damaged(_) | Self::Broken(_) => false,
        }
    }

    /// Whether the file holds what it should not.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Sql(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
            Self::Damaged(_) | Self::Broken(_) => true,
        }
    }

    /// Whether the disk failed to read or write, which damage can be behind.
    pub(crate) fn is_disk_failure(&self) -> bool {
        let failed =
            |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
        matches!(self, Self::Sql(error) if failed(error)) && !self.is_full()
    }

    /// Whether the file or its folder may not be written to.
    fn is_read_only(&self) -> bool {
        matches!(self, Self::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly))
    }

    /// This fault to somebody whose write surely did not happen.
    pub(crate) fn not_written(&self, path: &Path) -> StoreError {
        self.told(path, StoreError::NotWritten)
    }

    /// This fault to somebody whose write may have happened.
    pub(crate) fn unknown(&self, path: &Path) -> StoreError {
        match self.is_full() {
            // A commit frame that found no room is not a commit frame.
            true => StoreError::Full { path: path.into() },
            false => StoreError::Unknown(self.to_string().into()),
        }
    }

    /// This fault to somebody who reads.
    pub(crate) fn not_read(&self, path: &Path) -> StoreError {
        self.told(path, StoreError::NotRead)
    }

    fn told(
        &self,
        path: &Path,
        otherwise: impl FnOnce(std::sync::Arc<str>) -> StoreError,
    ) -> StoreError {
        if self.is_full() {
            StoreError::Full { path: path.into() }
        } else if self.is_damage() {
            StoreError::Corrupt { path: path.into(), detail: self.to_string().into() }
        } else if self.is_read_only() {
            StoreError::Unusable { path: path.into(), detail: READ_ONLY.into() }
        } else {
            otherwise(self.to_string().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn fault(code: i32) -> Fault {
        Fault::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn a_caller_hears_what_it_can_do_about_it() {
        let path = Path::new("data");
        let full = fault(ffi::SQLITE_FULL);
        assert!(matches!(full.not_written(path), StoreError::Full { .. }));
        assert!(matches!(full.unknown(path), StoreError::Full { .. }));
        let fsync = fault(ffi::SQLITE_IOERR_FSYNC);
        assert!(matches!(fsync.not_written(path), StoreError::NotWritten(_)));
        assert!(matches!(fsync.unknown(path), StoreError::Unknown(_)));
        assert!(matches!(fsync.not_read(path), StoreError::NotRead(_)));
        let read_only = fault(ffi::SQLITE_READONLY);
        assert!(matches!(read_only.not_read(path), StoreError::Unusable { .. }));
        let corrupt = fault(ffi::SQLITE_CORRUPT);
        assert!(matches!(corrupt.not_read(path), StoreError::Corrupt { .. }));
        let damaged = Fault::Damaged(Damaged::Short);
        assert!(matches!(damaged.not_read(path), StoreError::Corrupt { .. }));
    }
}
