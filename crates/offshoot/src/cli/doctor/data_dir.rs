//! The doctor's check of the data directory.

use std::fs::{File, TryLockError};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

use super::finding::{Finding, Findings};
use crate::cli::show::{size, text};

/// Below this much free space, writes may soon fail.
const TIGHT: u64 = 100 << 20;

/// The number of bytes read from a lock file.
const SIGNATURE: u64 = 1 << 10;

/// The state of the data directory.
#[derive(Debug, Serialize)]
pub(super) struct DataDirReport {
    path: String,
    owner: Option<u32>,
    mode: Option<String>,
    free_bytes: Option<u64>,
    used_bytes: u64,
    writable: bool,
    /// Whether the directory exists.
    exists: bool,
}

impl DataDirReport {
    /// Checks an existing directory.
    pub(super) fn examine(path: &Path, findings: &mut Findings) -> Self {
        let found = std::fs::metadata(path).ok();
        let mode = found.as_ref().map(|found| found.mode() & 0o7777);
        if let Some(mode) = mode.filter(|mode| mode & 0o077 != 0) {
            let said = format!("other users can read the directory: its mode is {mode:o}");
            let hint = format!("chmod 700 {}", text::quoted(&super::shown(path)));
            findings.add(Finding::warning("data", said).hint(hint));
        }
        let writable = is_writable(path);
        if !writable {
            let said = "the directory is not writable";
            let hint = "change its permissions, or choose another data directory with --data";
            findings.add(Finding::error("data", said).hint(hint));
        }
        strangers(path, findings);
        Self {
            path: super::shown(path),
            owner: found.as_ref().map(MetadataExt::uid),
            mode: mode.map(|mode| format!("{mode:04o}")),
            free_bytes: free(path, findings),
            used_bytes: used(path),
            writable,
            exists: true,
        }
    }

    /// Checks where a missing directory would be created.
    pub(super) fn absent(path: &Path, findings: &mut Findings) -> Self {
        let above = path.ancestors().skip(1).find(|above| above.exists());
        let above = above.unwrap_or(Path::new("/"));
        let writable = is_writable(above);
        if !writable {
            let said =
                format!("the directory cannot be created: {} is not writable", super::shown(above));
            let hint = "change its permissions, or choose another data directory with --data";
            findings.add(Finding::error("data", said).hint(hint));
        }
        Self {
            path: super::shown(path),
            owner: None,
            mode: None,
            free_bytes: free(above, findings),
            used_bytes: 0,
            writable,
            exists: false,
        }
    }

    /// Describes the directory on one line.
    pub(super) fn told(&self) -> String {
        let free = self.free_bytes.map_or_else(|| "unknown space".to_owned(), size::bytes);
        if !self.exists {
            return format!("{} (missing, created on demand; {free} free)", self.path);
        }
        let mode = self.mode.as_deref().unwrap_or("unknown");
        let used = size::bytes(self.used_bytes);
        format!("{} (mode {mode}, {used} used, {free} free)", self.path)
    }
}

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Reads the free space of the file system of a path.
fn free(path: &Path, findings: &mut Findings) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < TIGHT {
        let said = format!("only {} are free on its disk", size::bytes(free));
        let hint = "free some space, for example with `offshoot sessions rm`; on a full disk new \
                    tasks are refused, and none is lost";
        findings.add(Finding::warning("data", said).hint(hint));
    }
    Some(free)
}

/// Reports files in the directory that another user owns.
fn strangers(path: &Path, findings: &mut Findings) {
    let us = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let owner = entry.metadata().map(|found| found.uid()).unwrap_or(us);
        if owner != us {
            let said = format!("{} belongs to user {owner}", super::shown(&entry.path()));
            let hint = "change its owner with chown, or move it away";
            findings.add(Finding::error("data", said).hint(hint));
        }
    }
}

/// The size of all files below a directory, in bytes on disk.
fn used(path: &Path) -> u64 {
    let mut open = vec![path.to_owned()];
    let mut used = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) => used += found.blocks() * 512,
                Err(_) => {}
            }
        }
    }
    used
}

/// The process that holds the lock of the directory, if one does.
pub(super) fn holder(path: &Path) -> Option<String> {
    let lock = path.join("lock");
    // Opening a pipe would wait for its other end.
    let file = lock.is_file().then(|| File::open(lock).ok()).flatten()?;
    // The lock is released at once, with the file. A daemon that starts now retries.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut signed = String::new();
            (&file).take(SIGNATURE).read_to_string(&mut signed).ok();
            let signed = text::line(&signed);
            Some(if signed.is_empty() { "another process".to_owned() } else { signed })
        }
        _ => None,
    }
}
