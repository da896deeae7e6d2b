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
pub(super) struct Folder {
    path: String,
    owner: Option<u32>,
    mode: Option<String>,
    free_bytes: Option<u64>,
    used_bytes: u64,
    writable: bool,
}

impl Folder {
    /// Looks at the folder, and notes what is not as it should be.
    pub(super) fn examine(path: &Path, findings: &mut Findings) -> Self {
        let found = std::fs::metadata(path).ok();
        let mode = found.as_ref().map(|found| found.mode() & 0o7777);
        if let Some(mode) = mode.filter(|mode| mode & 0o077 != 0) {
            let said = format!("others may look into it: its mode is {mode:o}");
            let way_out = format!("chmod 700 {}", text::quoted(&super::shown(path)));
            findings.add(Finding::odd("data", said).way_out(way_out));
        }
        let writable = rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
        if !writable {
            let said = "it cannot be written";
            let way_out = "give yourself the right to, or choose another folder with --data";
            findings.add(Finding::wrong("data", said).way_out(way_out));
        }
        let free_bytes = rustix::fs::statvfs(path).ok();
        let free_bytes = free_bytes.map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        if let Some(free) = free_bytes.filter(|free| *free < TIGHT) {
            let said = format!("only {} are free on its disk", size::bytes(free));
            let way_out = "make room: a task is refused, not lost, when there is none";
            findings.add(Finding::odd("data", said).way_out(way_out));
        }
        strangers(path, findings);
        Self {
            path: super::shown(path),
            owner: found.as_ref().map(MetadataExt::uid),
            mode: mode.map(|mode| format!("{mode:04o}")),
            free_bytes,
            used_bytes: used(path),
            writable,
        }
    }

    /// The folder, for people.
    pub(super) fn told(&self) -> String {
        let mode = self.mode.as_deref().unwrap_or("unknown");
        let free = self.free_bytes.map_or_else(|| "unknown room".to_owned(), size::bytes);
        let used = size::bytes(self.used_bytes);
        format!("{} (mode {mode}, {used} used, {free} free)", self.path)
    }
}

/// Files in the folder that belong to somebody else.
fn strangers(path: &Path, findings: &mut Findings) {
    let us = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let owner = entry.metadata().map(|found| found.uid()).unwrap_or(us);
        if owner != us {
            let said = format!("{} belongs to user {owner}", super::shown(&entry.path()));
            let way_out = "make it yours with chown, or move it away";
            findings.add(Finding::wrong("data", said).way_out(way_out));
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
    let file = File::open(path.join("lock")).ok()?;
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
