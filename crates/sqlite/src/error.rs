//! Errors of SQLite and the file system, and what they mean for callers.

use std::io::ErrorKind;
use std::path::Path;

use offshoot_store::{Conflict, StoreError};
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

use crate::codec::DecodeError;

/// The advice for a directory that is not writable.
const READ_ONLY: &str = "it is read-only for this process; make it writable, or choose another";

/// Converts an error of the file system during the opening of a data directory.
pub(crate) fn open_error(path: &Path, error: &std::io::Error) -> StoreError {
    let detail = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => READ_ONLY,
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "a file is in its way; name a directory"
        }
        _ => return StoreError::NotRead(format!("{}: {error}", path.display()).into()),
    };
    StoreError::Unusable { path: path.into(), detail: detail.into() }
}

/// Why a batch was not written.
#[derive(Debug)]
pub(crate) enum BatchError {
    /// A precondition failed. Nothing of the batch was written.
    Conflict(Conflict),
    /// The database failed. The transaction must be rolled back.
    Sqlite(SqliteError),
}

/// A failure of the database.
#[derive(Debug)]
pub(crate) enum SqliteError {
    Sql(rusqlite::Error),
    Decode(DecodeError),
    /// A check of the file found these problems.
    Broken(String),
}

impl From<Conflict> for BatchError {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}

impl From<rusqlite::Error> for BatchError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(SqliteError::Sql(error))
    }
}

impl From<DecodeError> for BatchError {
    fn from(damaged: DecodeError) -> Self {
        Self::Sqlite(SqliteError::Decode(damaged))
    }
}

impl From<SqliteError> for BatchError {
    fn from(fault: SqliteError) -> Self {
        Self::Sqlite(fault)
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<DecodeError> for SqliteError {
    fn from(damaged: DecodeError) -> Self {
        Self::Decode(damaged)
    }
}

impl std::fmt::Display for SqliteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::Decode(damaged) => damaged.fmt(f),
            Self::Broken(problems) => problems.fmt(f),
        }
    }
}

impl SqliteError {
    /// Whether the disk is full.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Sql(error) => {
                // The shared-memory index of the log fails to grow only on a full disk.
                error.sqlite_error_code() == Some(ErrorCode::DiskFull)
                    || error
                        .sqlite_error()
                        .is_some_and(|error| error.extended_code == SQLITE_IOERR_SHMSIZE)
            }
            Self::Decode(_) | Self::Broken(_) => false,
        }
    }

    /// Whether the database is damaged.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Sql(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
            Self::Decode(_) | Self::Broken(_) => true,
        }
    }

    /// Whether a disk operation failed, possibly because of damage.
    pub(crate) fn is_disk_failure(&self) -> bool {
        let failed =
            |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
        matches!(self, Self::Sql(error) if failed(error)) && !self.is_full()
    }

    /// Whether the file or its directory is read-only.
    fn is_read_only(&self) -> bool {
        matches!(self, Self::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly))
    }

    /// The error for a caller whose write did not happen.
    pub(crate) fn not_written(&self, path: &Path) -> StoreError {
        self.store_error(path, StoreError::NotWritten)
    }

    /// The error for a caller whose write may have happened.
    pub(crate) fn unknown(&self, path: &Path) -> StoreError {
        match self.is_full() {
            // A commit frame that did not fit on the disk is not a commit.
            true => StoreError::Full { path: path.into() },
            false => StoreError::Unknown(self.to_string().into()),
        }
    }

    /// The error for a caller of a read.
    pub(crate) fn not_read(&self, path: &Path) -> StoreError {
        self.store_error(path, StoreError::NotRead)
    }

    fn store_error(
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

    fn fault(code: i32) -> SqliteError {
        SqliteError::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn errors_tell_the_caller_what_to_do() {
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
        let damaged = SqliteError::Decode(DecodeError::Short);
        assert!(matches!(damaged.not_read(path), StoreError::Corrupt { .. }));
    }
}
