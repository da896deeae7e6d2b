//! The folder's lock: one process at a time, told apart from a dead one.
//!
//! The operating system holds the lock and drops it with the process, so
//! nothing stale can be left. The file's text only says who it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use offshoot_store::StoreError;

use crate::error::refused;

const FILE: &str = "lock";

#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
    made: bool,
}

impl Lock {
    /// Takes the lock, or says who has it. Nothing is written yet.
    pub(crate) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let made = !path.exists();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(|error| refused(folder, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, path, made }),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Behind the line may stand the rest of an earlier one.
                let told = file.read_to_string(&mut holder).ok();
                let told = told.and_then(|_| holder.lines().next()).map(str::trim);
                let holder = told.filter(|told| !told.is_empty()).unwrap_or("another process");
                Err(StoreError::Locked { path: folder.into(), holder: holder.into() })
            }
            Err(TryLockError::Error(error)) => Err(refused(&path, &error)),
        }
    }

    /// Says who holds the lock.
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
        // Over the signature before, which has its room even on a full disk.
        let signed = self
            .file
            .rewind()
            .and_then(|()| self.file.write_all(holder.as_bytes()))
            .and_then(|()| self.file.set_len(holder.len() as u64));
        // On a full disk the lock holds all the same, unsigned.
        match signed {
            Err(error) if error.kind() != std::io::ErrorKind::StorageFull => {
                Err(refused(&self.path, &error))
            }
            _ => Ok(()),
        }
    }

    /// What is held, whatever its name leads to by now.
    pub(crate) fn held(&self) -> std::io::Result<std::fs::Metadata> {
        self.file.metadata()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the lock back as if it had never been taken.
    pub(crate) fn retract(self) {
        if self.made {
            // Worth a try only: an empty lock file disturbs nobody.
            std::fs::remove_file(&self.path).ok();
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is being started may
        // hold a copy of it for a moment, and the lock with it.
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the folder's lock could not be given back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_who_holds_it_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mut held = Lock::take(folder.path()).unwrap();
        held.sign().unwrap();
        let refused = Lock::take(folder.path()).unwrap_err();
        let holder = format!("process {}", std::process::id());
        assert!(refused.to_string().contains(&holder), "{refused}");
        drop(held);
        Lock::take(folder.path()).unwrap();
    }
}
