//! Blobs: values too large for a record, each in its own file.
//!
//! The blobs of a task are in a directory of the task. A blob is complete and durable
//! before a record refers to it, and it is deleted after its task. A refused spawn deletes
//! its input. A crash in between leaves orphans: blobs of tasks that were never spawned or
//! are deleted. The first opening after a clean close removes them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::{Blob, TaskId};
use offshoot_store::StoreError;
use rusqlite::Connection;

use crate::error::SqliteError;

#[derive(Debug)]
pub(crate) struct Blobs {
    dir: PathBuf,
    // The first number used by this process, and the next one.
    first: u64,
    next: AtomicU64,
}

impl Blobs {
    pub(crate) fn at(dir: &Path) -> Self {
        // Numbers grow with time, so earlier processes used lower ones.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let first = now.map_or(1, |now| u64::try_from(now.as_micros()).unwrap_or(1));
        Self { dir: dir.join("blobs"), first, next: AtomicU64::new(first) }
    }

    /// Writes a blob.
    pub(crate) fn put(&self, task: TaskId, json: &str) -> Result<Blob, StoreError> {
        let written = || -> std::io::Result<Blob> {
            let dir = self.of(task);
            make_dir(&dir)?;
            let number = loop {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                if !self.path(task, number).exists() {
                    break number;
                }
            };
            let path = self.path(task, number);
            let draft = path.with_extension("tmp");
            let kept = write_whole(&draft, json.as_bytes())
                .and_then(|()| std::fs::rename(&draft, &path))
                .and_then(|()| File::open(&dir)?.sync_all());
            if kept.is_err() {
                // A draft that cannot be removed now is removed with its task.
                std::fs::remove_file(&draft).ok();
            }
            kept.map(|()| Blob { task, number, bytes: json.len() as u64 })
        };
        written().map_err(|error| match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::Full { path: self.dir.clone() }
            }
            _ => StoreError::NotWritten(format!("{}: {error}", self.dir.display()).into()),
        })
    }

    /// Reads a blob.
    pub(crate) fn get(&self, blob: Blob) -> Result<Option<Arc<str>>, StoreError> {
        match std::fs::read_to_string(self.path(blob.task, blob.number)) {
            Ok(json) => Ok(Some(json.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(StoreError::NotRead(format!("{}: {error}", self.dir.display()).into()))
            }
        }
    }

    /// Deletes a blob, and the task's directory if it is empty.
    pub(crate) fn delete(&self, blob: Blob) -> Result<(), StoreError> {
        match std::fs::remove_file(self.path(blob.task, blob.number)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::NotWritten(format!("{}: {error}", self.dir.display()).into()))
            }
            _ => {
                std::fs::remove_dir(self.of(blob.task)).ok();
                Ok(())
            }
        }
    }

    /// Deletes the blobs of a deleted task.
    pub(crate) fn remove(&self, task: TaskId) {
        if let Err(error) = std::fs::remove_dir_all(self.of(task))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "blobs could not be removed; a later opening tries again");
        }
    }

    fn of(&self, task: TaskId) -> PathBuf {
        self.dir.join(task.to_string())
    }

    pub(crate) fn path(&self, task: TaskId, number: u64) -> PathBuf {
        self.of(task).join(format!("{number}.json"))
    }

    /// Removes the files of earlier processes that no record refers to.
    pub(crate) fn remove_orphans(&self, connection: &Connection) -> Result<(), SqliteError> {
        let Ok(dirs) = std::fs::read_dir(&self.dir) else { return Ok(()) };
        let mut stored = connection.prepare("SELECT 1 FROM tasks WHERE id = ?1")?;
        for dir in dirs.flatten() {
            let name = dir.file_name();
            let Some(task) = name.to_str().and_then(|name| name.parse::<TaskId>().ok()) else {
                continue;
            };
            let stored = stored.exists([task.to_bytes()])?;
            for file in std::fs::read_dir(dir.path()).into_iter().flatten().flatten() {
                // A blob of this process may be older than its task.
                let orphan = parse(&file.file_name())
                    .is_some_and(|(number, whole)| number < self.first && !(stored && whole));
                if orphan && let Err(error) = std::fs::remove_file(file.path()) {
                    tracing::warn!(%error, "an orphaned blob could not be removed");
                }
            }
            if !stored {
                // The removal fails if this process has added a blob.
                std::fs::remove_dir(dir.path()).ok();
            }
        }
        Ok(())
    }
}

/// Creates a directory and its parents, and makes each durable in its parent.
fn make_dir(dir: &Path) -> std::io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let above = dir.parent();
    above.map_or(Ok(()), make_dir)?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)?;
    above.map_or(Ok(()), |above| File::open(above)?.sync_all())
}

fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The number in the name of a blob file, and whether the file is complete.
fn parse(name: &OsStr) -> Option<(u64, bool)> {
    let (number, ending) = name.to_str()?.split_once('.')?;
    Some((number.parse().ok()?, ending == "json"))
}
