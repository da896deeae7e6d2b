//! Values too large for a record: one file each.
//!
//! A value belongs to its task and lies in a folder of its task's. It is whole
//! and on the disk before any record refers to it, and its task is gone before
//! it is. A spawn that is refused takes its input back. What a crash leaves in
//! between, of a task that was never spawned or is deleted, is an orphan, and
//! the next opening removes it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::{Blob, TaskId};
use offshoot_store::StoreError;
use rusqlite::Connection;

use crate::error::Fault;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct Blobs {
    folder: PathBuf,
    // The first number of this process, and the next.
    first: u64,
    next: AtomicU64,
}

impl Blobs {
    pub(crate) fn at(folder: &Path) -> Self {
        // Numbers grow with time, so that those of an earlier process are lower.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let first = now.map_or(1, |now| u64::try_from(now.as_micros()).unwrap_or(1));
        Self { folder: folder.join("blobs"), first, next: AtomicU64::new(first) }
    }

    /// Writes a value.
    pub(crate) fn put(&self, task: TaskId, json: &str) -> Result<Blob, StoreError> {
        let written = || -> std::io::Result<Blob> {
            let folder = self.of(task);
            make_folder(&folder)?;
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
                .and_then(|()| File::open(&folder)?.sync_all());
            if kept.is_err() {
                // What cannot be removed now goes with its task.
                std::fs::remove_file(&draft).ok();
            }
            kept.map(|()| Blob { task, number, bytes: json.len() as u64 })
        };
        written().map_err(|error| match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::Full { path: self.folder.clone() }
            }
            _ => StoreError::NotWritten(format!("{}: {error}", self.folder.display()).into()),
        })
    }

    /// Reads a value.
    pub(crate) fn get(&self, blob: Blob) -> Result<Option<Arc<str>>, StoreError> {
        match std::fs::read_to_string(self.path(blob.task, blob.number)) {
            Ok(json) => Ok(Some(json.into())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(StoreError::NotRead(format!("{}: {error}", self.folder.display()).into()))
            }
        }
    }

    /// Deletes a value, and the folder of its task if it was the last one.
    pub(crate) fn delete(&self, blob: Blob) -> Result<(), StoreError> {
        match std::fs::remove_file(self.path(blob.task, blob.number)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::NotWritten(format!("{}: {error}", self.folder.display()).into()))
            }
            _ => {
                std::fs::remove_dir(self.of(blob.task)).ok();
                Ok(())
            }
        }
    }

    /// Removes the values of a task that is deleted.
    pub(crate) fn remove(&self, task: TaskId) {
        if let Err(error) = std::fs::remove_dir_all(self.of(task))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "blobs could not be removed; the next opening tries again");
        }
    }

    fn of(&self, task: TaskId) -> PathBuf {
        self.folder.join(task.to_string())
    }

    pub(crate) fn path(&self, task: TaskId, number: u64) -> PathBuf {
        self.of(task).join(format!("{number}.json"))
    }

    fn remove_orphans(&self, connection: &Connection) -> Result<(), Fault> {
        let Ok(folders) = std::fs::read_dir(&self.folder) else { return Ok(()) };
        let mut stored = connection.prepare("SELECT 1 FROM tasks WHERE id = ?1")?;
        for folder in folders.flatten() {
            let name = folder.file_name();
            let Some(task) = name.to_str().and_then(|name| name.parse::<TaskId>().ok()) else {
                continue;
            };
            let stored = stored.exists([task.to_bytes()])?;
            for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                // What this process writes may not have its task yet.
                let orphan = parse(&file.file_name())
                    .is_some_and(|(number, whole)| number < self.first && !(stored && whole));
                if orphan && let Err(error) = std::fs::remove_file(file.path()) {
                    tracing::warn!(%error, "an orphaned blob could not be removed");
                }
            }
            if !stored {
                // It stays if this process has put something there.
                std::fs::remove_dir(folder.path()).ok();
            }
        }
        Ok(())
    }
}

/// Makes a folder and those above it, each durable in the one above.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent();
    above.map_or(Ok(()), make_folder)?;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    above.map_or(Ok(()), |above| File::open(above)?.sync_all())
}

/// Removes, beside everything else that goes on, what earlier processes left.
pub(crate) fn sweep_orphans(shared: &Arc<Shared>) {
    let other = shared.clone();
    let swept = shared.hand(move |connection| {
        let swept = other.blobs.remove_orphans(connection);
        if let Err(fault) = &swept {
            tracing::warn!(%fault, "orphaned blobs could not be looked for");
        }
        swept.map_err(|fault| fault.not_read(&other.path))
    });
    drop(swept);
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

/// The number of a blob's file, and whether it was written to its end.
fn parse(name: &OsStr) -> Option<(u64, bool)> {
    let (number, ending) = name.to_str()?.split_once('.')?;
    Some((number.parse().ok()?, ending == "json"))
}
