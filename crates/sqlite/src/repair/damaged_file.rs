//! The damaged file, opened without changing it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use offshoot_store::StoreError;
use rusqlite::Connection;

use crate::error::{SqliteError, open_error};
use crate::files::connection::{self, FILE, beside};
use crate::files::migrate::{FORMAT, migrate_to};

const PAGE: usize = 4_096;

/// The damaged file.
pub(super) struct DamagedFile {
    pub(super) connection: Connection,
    /// Its format.
    pub(super) format: u32,
    /// The directory of a copy, if the schema had to be replaced.
    scratch: Option<PathBuf>,
}

impl DamagedFile {
    /// Opens the file of a data directory.
    ///
    /// If its schema is broken, opens a copy with the schema of a new store instead. This
    /// works because the tables of all stores begin at the same pages.
    pub(super) fn open(dir: &Path) -> Result<Self, StoreError> {
        let file = dir.join(FILE);
        if let Ok((connection, format)) = readable(&file) {
            return Ok(Self { connection, format, scratch: None });
        }
        let scratch = dir.join("repair-scratch");
        let opened = Self::transplant(&file, &scratch);
        if opened.is_err() {
            remove(&scratch);
        }
        opened
    }

    fn transplant(file: &Path, scratch: &Path) -> Result<Self, StoreError> {
        let io = |error: std::io::Error| open_error(scratch, &error);
        let sql = |error: rusqlite::Error| SqliteError::from(error).not_read(scratch);
        remove(scratch);
        std::fs::create_dir(scratch).map_err(io)?;
        let copy = scratch.join(FILE);
        std::fs::copy(file, &copy).map_err(io)?;
        let log = beside(file, "-wal");
        if log.exists() {
            std::fs::copy(log, beside(&copy, "-wal")).map_err(io)?;
        }
        let format = format_of(&copy).map_err(io)?;
        let fresh = scratch.join("fresh.db");
        {
            let mut made = Connection::open(&fresh).map_err(sql)?;
            made.pragma_update(None, "page_size", PAGE as u32).map_err(sql)?;
            migrate_to(&mut made, format).map_err(sql)?;
            made.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).map_err(sql)?;
        }
        replace_schema(&fresh, &copy).map_err(io)?;
        let (connection, format) = readable(&copy).map_err(|fault| fault.not_read(file))?;
        Ok(Self { connection, format, scratch: Some(scratch.to_owned()) })
    }
}

impl Drop for DamagedFile {
    fn drop(&mut self) {
        if let Some(scratch) = &self.scratch {
            remove(scratch);
        }
    }
}

fn remove(scratch: &Path) {
    if let Err(error) = std::fs::remove_dir_all(scratch)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "a copy that was made for a repair could not be removed");
    }
}

/// Opens a file with a readable schema.
fn readable(file: &Path) -> Result<(Connection, u32), SqliteError> {
    let connection = connection::observer(file)?;
    let format: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format == 0 || format > FORMAT {
        return Err(SqliteError::Broken(format!("it has format {format}")));
    }
    connection.prepare("SELECT 1 FROM tasks, sessions, inbox, log LIMIT 0")?;
    Ok((connection, format))
}

/// The format in the header, or the current one if the header has none.
fn format_of(file: &Path) -> std::io::Result<u32> {
    let mut header = [0; 64];
    let mut file = File::open(file)?;
    let length = file.read(&mut header)?;
    let format = u32::from_be_bytes([header[60], header[61], header[62], header[63]]);
    Ok(if length == header.len() && (1..=FORMAT).contains(&format) { format } else { FORMAT })
}

/// Replaces the schema of a copy with that of a new file: the first page and the pages
/// below it. The copy then has at least as many pages as the new file.
fn replace_schema(fresh: &Path, copy: &Path) -> std::io::Result<()> {
    let fresh = std::fs::read(fresh)?;
    let mut copy = File::options().write(true).open(copy)?;
    let pages = (copy.metadata()?.len() / PAGE as u64).max((fresh.len() / PAGE) as u64);
    copy.set_len(pages * PAGE as u64)?;
    let mut first = fresh[..PAGE].to_vec();
    first[28..32].copy_from_slice(&u32::try_from(pages).unwrap_or(u32::MAX).to_be_bytes());
    // The free list of the new file is not valid here.
    first[32..40].fill(0);
    // Equal numbers mark the page count as valid.
    first.copy_within(24..28, 92);
    copy.write_all(&first)?;
    for page in below_first(&first) {
        let start = (page - 1) * PAGE;
        if let Some(bytes) = fresh.get(start..start + PAGE) {
            copy.seek(SeekFrom::Start(start as u64))?;
            copy.write_all(bytes)?;
        }
    }
    copy.sync_all()
}

/// The pages below the first one, if it is an interior page.
fn below_first(first: &[u8]) -> Vec<usize> {
    /// The start of the b-tree on the first page, after the file header.
    const TREE: usize = 100;
    const INTERIOR: u8 = 5;
    let number = |at: usize| {
        let bytes = first.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        u32::from_be_bytes(bytes.unwrap_or_default()) as usize
    };
    if first[TREE] != INTERIOR {
        return Vec::new();
    }
    let cells = usize::from(u16::from_be_bytes([first[TREE + 3], first[TREE + 4]]));
    let places = first[TREE + 12..].chunks_exact(2).take(cells);
    let children = places.map(|at| number(usize::from(u16::from_be_bytes([at[0], at[1]]))));
    children.chain([number(TREE + 8)]).filter(|page| *page > 1).collect()
}
