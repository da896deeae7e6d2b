//! Looking for damage.
//!
//! SQLite notices a broken page when it reads that page, which may be days
//! later. So the file is checked when a process that held it died, when a read
//! fails, and when `doctor` asks. What was found is noted in the data directory:
//! until the store is sound again, no process writes to it.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::Connection;

use crate::error::Fault;
use crate::load::load;
use crate::record::{self, TASK};
use crate::tables::PARTS;

/// The note that the store was found damaged, and how.
const NOTE: &str = "damaged";

/// How many problems are named.
const NAMED: usize = 4;

/// Checks that the pages of the file fit together.
pub(crate) fn check_pages(connection: &Connection) -> Result<(), Fault> {
    ask(connection, "PRAGMA quick_check(4)")
}

/// Checks everything: the pages, that each index has each row, and that each
/// stored value can be read.
pub(crate) fn check_all(connection: &Connection) -> Result<(), Fault> {
    ask(connection, "PRAGMA integrity_check(4)")?;
    let image = load(connection)?;
    read_each(connection, &format!("SELECT {TASK} FROM tasks"), |row| {
        record::task(row, &image).map(drop)
    })?;
    PARTS.iter().try_for_each(|table| {
        read_each(connection, &format!("SELECT * FROM {}", table.name), table.read)
    })
}

fn ask(connection: &Connection, pragma: &str) -> Result<(), Fault> {
    let mut problems = Vec::new();
    let mut select = connection.prepare(pragma)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        problems.push(row.get::<_, String>(0)?);
    }
    match problems.as_slice() {
        [ok] if ok == "ok" => Ok(()),
        _ => {
            // A row may hold several lines.
            let lines: Vec<&str> = problems.iter().flat_map(|problem| problem.lines()).collect();
            Err(Fault::Broken(lines[..lines.len().min(NAMED)].join("; ")))
        }
    }
}

fn read_each(
    connection: &Connection,
    sql: &str,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut select = connection.prepare(sql)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        read(row)?;
    }
    Ok(())
}

/// Notes that the store is damaged, for the next process that opens it.
pub(crate) fn note_damage(folder: &Path, detail: &str) {
    if let Err(error) = std::fs::write(folder.join(NOTE), format!("{detail}\n")) {
        tracing::warn!(%error, "it could not be noted that the store is damaged");
    }
}

/// Whether the store was found damaged and has not been sound since.
pub(crate) fn is_noted(folder: &Path) -> bool {
    folder.join(NOTE).exists()
}

/// Removes the note.
pub(crate) fn forget_damage(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(folder.join(NOTE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
