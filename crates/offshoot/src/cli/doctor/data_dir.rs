//! The data folder, as the doctor sees it.

use std::fs::{File, TryLockError};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

use super::finding::{Finding, Findings};
use crate::cli::show::{size, text};

/// Below this much room something is going to fail.
const TIGHT: u64 = 100 << 20;

/// How much of a lock is read.
const SIGNATURE: u64 = 1 << 10;

/// The data folder.
#[derive(Debug, Serialize)]
pub(super) struct DataDirReport {
    path: String,
    owner: Option<u32>,
    mode: Option<String>,
    free_bytes: Option<u64>,
    used_bytes: u64,
    writable: bool,
    /// Whether it is there, or would be made.
    exists: bool,
}

impl DataDirReport {
    /// Looks at the folder, and notes what is not as it should be.
    pub(super) fn examine(path: &Path, findings: &mut Findings) -> Self {
        let found = std::fs::metadata(path).ok();
        let mode = found.as_ref().map(|found| found.mode() & 0o7777);
        if let Some(mode) = mode.filter(|mode| mode & 0o077 != 0) {
            let said = format!("others may look into it: its mode is {mode:o}");
            let hint = format!("chmod 700 {}", text::quoted(&super::shown(path)));
            findings.add(Finding::odd("data", said).hint(hint));
        }
        let writable = is_writable(path);
        if !writable {
            let said = "it cannot be written";
            let hint = "give yourself the right to, or choose another folder with --data";
            findings.add(Finding::wrong("data", said).hint(hint));
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

    /// Looks at where the folder would be made.
    pub(super) fn absent(path: &Path, findings: &mut Findings) -> Self {
        let above = path.ancestors().skip(1).find(|above| above.exists());
        let above = above.unwrap_or(Path::new("/"));
        let writable = is_writable(above);
        if !writable {
            let said = format!("it cannot be made: {} cannot be written", super::shown(above));
            let hint = "give yourself the right to, or choose another folder with --data";
            findings.add(Finding::wrong("data", said).hint(hint));
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

    /// The folder, for people.
    pub(super) fn told(&self) -> String {
        let free = self.free_bytes.map_or_else(|| "unknown room".to_owned(), size::bytes);
        if !self.exists {
            return format!("{} (not there: it is made when it is needed; {free} free)", self.path);
        }
        let mode = self.mode.as_deref().unwrap_or("unknown");
        let used = size::bytes(self.used_bytes);
        format!("{} (mode {mode}, {used} used, {free} free)", self.path)
    }
}

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// How much is free on the disk that this is on.
fn free(path: &Path, findings: &mut Findings) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < TIGHT {
        let said = format!("only {} are free on its disk", size::bytes(free));
        let hint = "make room, or remove sessions with `offshoot sessions rm`: a task is \
                       refused, not lost, when there is none";
        findings.add(Finding::odd("data", said).hint(hint));
    }
    Some(free)
}

/// Files in the folder that belong to somebody else.
fn strangers(path: &Path, findings: &mut Findings) {
    let us = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let owner = entry.metadata().map(|found| found.uid()).unwrap_or(us);
        if owner != us {
            let said = format!("{} belongs to user {owner}", super::shown(&entry.path()));
            let hint = "make it yours with chown, or move it away";
            findings.add(Finding::wrong("data", said).hint(hint));
        }
    }
}

/// How many bytes the files take that lie in a folder and below it.
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

/// Who holds the folder's lock, if somebody does.
pub(super) fn holder(path: &Path) -> Option<String> {
    let lock = path.join("lock");
    // To open a pipe would wait for its other side.
    let file = lock.is_file().then(|| File::open(lock).ok()).flatten()?;
    // Let go at once, with the file: whoever wants it now tries again.
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
