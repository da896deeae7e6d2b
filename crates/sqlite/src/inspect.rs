//! A look at the file before anything opens it.
//!
//! SQLite repairs, merges and creates files as soon as it is let at them. A
//! file that is damaged, newer or somebody else's must stay as it is, so its
//! header is read first, as bytes.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use offshoot_store::StoreError;

use crate::connection::{FILE, beside};
use crate::marker::{self, State};
use crate::migrate::{APPLICATION, FORMAT};
use crate::wal;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What is in a data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No store yet.
    Nothing,
    /// A store of a format that this version reads.
    Store,
}

pub(crate) fn inspect(folder: &Path) -> Result<Found, StoreError> {
    let path = folder.join(FILE);
    let corrupt = |detail: &str| StoreError::Corrupt { path: path.clone(), detail: detail.into() };
    let unread =
        |error: std::io::Error| StoreError::NotRead(format!("{}: {error}", path.display()).into());
    let log = std::fs::metadata(beside(&path, "-wal")).map_or(0, |log| log.len());
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound && log == 0 => {
            return match marker::read(folder)? {
                Some(_) => Err(StoreError::Missing { path }),
                None => Ok(Found::Nothing),
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
    // What the log holds may not have reached the file yet.
    if log == 0 && length < u64::from(number(&header, 28)) * page {
        return Err(corrupt("it was cut short"));
    }
    if marker::read(folder)? == Some(State::Open) && !beside(&path, "-wal").exists() {
        return Err(corrupt(
            "its log offshoot.db-wal is missing, and with it what was committed last",
        ));
    }
    if let Some(damage) = wal::damage(&beside(&path, "-wal")).map_err(unread)? {
        return Err(corrupt(damage));
    }
    Ok(Found::Store)
}

/// Whether the last process that held the database did not close it.
pub(crate) fn ended_uncleanly(folder: &Path) -> Result<bool, StoreError> {
    let log = beside(&folder.join(FILE), "-wal");
    Ok(match marker::read(folder)? {
        Some(state) => state == State::Open,
        None => std::fs::metadata(log).is_ok_and(|log| log.len() > 0),
    })
}

fn number(header: &[u8; 100], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
