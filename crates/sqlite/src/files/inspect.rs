//! Inspection of the database file before SQLite opens it.
//!
//! SQLite repairs, merges and creates files on opening. A file that is damaged, newer or
//! foreign must not be changed, so its header is read as plain bytes first.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use offshoot_core::TaskId;
use offshoot_store::StoreError;

use super::wal;
use crate::files::connection::{FILE, beside};
use crate::files::marker::{self, Boot, Marker};
use crate::files::migrate::{APPLICATION, FORMAT};
use crate::files::regular::must_be_regular;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The directories with one entry for each task, named by its id: its blobs and its output.
pub(crate) const OF_TASKS: [&str; 2] = ["blobs", "logs"];

/// The contents of a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirContents {
    /// No store.
    Nothing,
    /// A store with a format that this version reads.
    Store,
}

pub(crate) fn inspect(dir: &Path) -> Result<DirContents, StoreError> {
    for name in [FILE, "offshoot.db-wal", "offshoot.db-shm", "offshoot.db-journal"] {
        must_be_regular(dir, name)?;
    }
    let path = dir.join(FILE);
    let corrupt = |detail: &str| StoreError::Corrupt { path: path.clone(), detail: detail.into() };
    let unread =
        |error: std::io::Error| StoreError::NotRead(format!("{}: {error}", path.display()).into());
    let log = std::fs::metadata(beside(&path, "-wal")).map_or(0, |log| log.len());
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && log == 0 => {
            return match marker::read(dir)?.is_some() || has_tasks(dir) {
                true => Err(StoreError::Missing { path }),
                false => Ok(DirContents::Nothing),
            };
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(corrupt("the file is gone and its log is not"));
        }
        Err(error) => return Err(unread(error)),
    };
    let mut header = [0; 100];
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return Err(corrupt("it is too short for a SQLite file"));
        }
        Err(error) => return Err(unread(error)),
    }
    if header[..16] != *MAGIC {
        return Err(corrupt("it is not a SQLite file"));
    }
    if number(&header, 68) != APPLICATION {
        return Err(corrupt("it is another program's SQLite file"));
    }
    match number(&header, 60) {
        0 => return Err(corrupt("it has no format")),
        found if found > FORMAT => {
            return Err(StoreError::Newer { path, found, known: FORMAT });
        }
        _ => {}
    }
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        size => size,
    };
    let length = file.metadata().map_err(unread)?.len();
    if page < 512 || !page.is_power_of_two() {
        return Err(corrupt("its pages have no size"));
    }
    // The newest pages may still be in the log.
    if log == 0 && length < u64::from(number(&header, 28)) * page {
        return Err(corrupt("it was cut short"));
    }
    let marker = marker::read(dir)?;
    let boot = match marker {
        Some(Marker::Open(boot)) => boot,
        _ => Boot::Other,
    };
    let log_path = beside(&path, "-wal");
    match marker {
        Some(Marker::Open(_)) if !log_path.exists() => {
            return Err(corrupt(
                "its log offshoot.db-wal is missing, and with it what was committed last",
            ));
        }
        Some(Marker::Broken) if !log_path.exists() => {
            return Err(corrupt(
                "store.json cannot be read, so it is unknown whether offshoot.db is complete \
                 without a log offshoot.db-wal",
            ));
        }
        _ => {}
    }
    if let Some(damage) = wal::damage(&log_path, &beside(&path, "-shm"), boot).map_err(unread)? {
        return Err(corrupt(damage));
    }
    Ok(DirContents::Store)
}

/// Whether the directory has blobs or output of tasks. If it has, it had a database.
fn has_tasks(dir: &Path) -> bool {
    OF_TASKS.iter().any(|sort| {
        let entries = std::fs::read_dir(dir.join(sort)).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.any(|name| name.to_str().is_some_and(|name| name.parse::<TaskId>().is_ok()))
    })
}

/// Whether the last process that held the database did not close it.
pub(crate) fn ended_uncleanly(dir: &Path) -> Result<bool, StoreError> {
    let log = beside(&dir.join(FILE), "-wal");
    Ok(match marker::read(dir)? {
        Some(marker) => marker != Marker::Closed,
        None => std::fs::metadata(log).is_ok_and(|log| log.len() > 0),
    })
}

fn number(header: &[u8; 100], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
