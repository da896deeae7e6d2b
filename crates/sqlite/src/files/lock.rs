//! The lock of a data directory, held by one process at a time.
//!
//! The operating system releases the lock when the process ends, so a stale lock cannot
//! exist. The text of the file only names the holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use offshoot_store::StoreError;

use crate::error::open_error;
use crate::files::regular::must_be_regular;

const FILE: &str = "lock";

#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    made: bool,
}

impl Lock {
    /// Takes the lock, or names its holder in the error. Writes nothing.
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        must_be_regular(dir, FILE)?;
        let path = dir.join(FILE);
        let made = !path.exists();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(|error| open_error(dir, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, path, made }),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The rest of a longer, earlier signature may follow the first line.
                let told = file.read_to_string(&mut holder).ok();
                let told = told.and_then(|_| holder.lines().next()).map(str::trim);
                let holder = told.filter(|told| !told.is_empty()).unwrap_or("another process");
                Err(StoreError::Locked { path: dir.into(), holder: holder.into() })
            }
            Err(TryLockError::Error(error)) => Err(open_error(&path, &error)),
        }
    }

    /// Writes the name of the holder.
    pub(crate) fn sign(&mut self) -> Result<(), StoreError> {
        let name = std::env::current_exe().ok();
        let name = name.as_deref().and_then(Path::file_name).unwrap_or_default();
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let since = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
        let holder = format!(
            "process {} ({}, since {})\n",
            std::process::id(),
            name.to_string_lossy(),
            offshoot_core::Stamp::from_micros(since),
        );
        // The new text replaces the old one in place, so it fits on a full disk.
        let signed = self
            .file
            .rewind()
            .and_then(|()| self.file.write_all(holder.as_bytes()))
            .and_then(|()| self.file.set_len(holder.len() as u64));
        // On a full disk the lock works without the name.
        match signed {
            Err(error) if error.kind() != std::io::ErrorKind::StorageFull => {
                Err(open_error(&self.path, &error))
            }
            _ => Ok(()),
        }
    }

    /// The metadata of the locked file, wherever its path leads by now.
    pub(crate) fn held(&self) -> std::io::Result<std::fs::Metadata> {
        self.file.metadata()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Releases the lock and removes the file if this process created it.
    pub(crate) fn retract(self) {
        if self.made {
            // A leftover empty lock file does no harm.
            std::fs::remove_file(&self.path).ok();
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is being started can have a
        // copy of the descriptor for a moment.
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock of the data directory could not be given back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_gets_the_name_of_the_holder_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let mut held = Lock::take(dir.path()).unwrap();
        held.sign().unwrap();
        let refused = Lock::take(dir.path()).unwrap_err();
        let holder = format!("process {}", std::process::id());
        assert!(refused.to_string().contains(&holder), "{refused}");
        drop(held);
        Lock::take(dir.path()).unwrap();
    }
}
