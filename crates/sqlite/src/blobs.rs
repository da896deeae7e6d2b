//! Values too large for a record: one file each.
//!
//! A file is whole and on the disk before any record refers to it, and a
//! record is gone before its files are. What a crash leaves in between is an
//! orphan, and the next opening removes it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::{Blob, TaskId};
use offshoot_store::StoreError;
use rusqlite::Connection;

use crate::error::Fault;
use crate::record::column;
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
            self.make_folder()?;
            let mut blob = Blob { task, number: 0, bytes: json.len() as u64 };
            blob.number = loop {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                if !self.path(task, number).exists() {
                    break number;
                }
            };
            let path = self.path(task, blob.number);
            let draft = path.with_extension("tmp");
            let kept = write_whole(&draft, json.as_bytes())
                .and_then(|()| std::fs::rename(&draft, &path))
                .and_then(|()| File::open(&self.folder)?.sync_all());
            if kept.is_err() {
                // What cannot be removed now is an orphan at the next opening.
                std::fs::remove_file(&draft).ok();
            }
            kept.map(|()| blob)
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

    /// Removes the file of a value that nothing refers to any more.
    pub(crate) fn remove(&self, task: TaskId, number: u64) {
        if let Err(error) = std::fs::remove_file(self.path(task, number))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "a blob could not be removed; the next opening tries again");
        }
    }

    fn path(&self, task: TaskId, number: u64) -> PathBuf {
        self.folder.join(format!("{task}.{number}.json"))
    }

    fn make_folder(&self) -> std::io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        self.folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
    }

    fn remove_orphans(&self, connection: &Connection) -> Result<(), Fault> {
        let Ok(files) = std::fs::read_dir(&self.folder) else { return Ok(()) };
        let mut kept = connection.prepare("SELECT 1 FROM blobs WHERE task = ?1 AND number = ?2")?;
        for file in files.flatten() {
            let name = file.file_name();
            let Some((task, number, whole)) = name.to_str().and_then(parse) else { continue };
            // What this process writes may not have its record yet.
            if number >= self.first {
                continue;
            }
            if whole && kept.exists((task.to_bytes(), column(number)))? {
                continue;
            }
            if let Err(error) = std::fs::remove_file(file.path()) {
                tracing::warn!(%error, "an orphaned blob could not be removed");
            }
        }
        Ok(())
    }
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

/// The task and number of a blob's file, and whether it was written to its
/// end.
fn parse(name: &str) -> Option<(TaskId, u64, bool)> {
    let (rest, ending) = name.rsplit_once('.')?;
    let (task, number) = rest.split_once('.')?;
    Some((task.parse().ok()?, number.parse().ok()?, ending == "json"))
}
