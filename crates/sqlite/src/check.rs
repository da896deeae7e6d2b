//! Checks of the database for damage.
//!
//! SQLite notices a broken page only when it reads the page, which may be days later.
//! Therefore the file is checked after an unclean end, after a failed read, and on request
//! of `doctor`. Damage is noted in the data directory, and no process writes to the store
//! until it is repaired.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::Connection;

use crate::error::SqliteError;
use crate::image::load;
use crate::record::{self, TASK};
use crate::tables::TABLES;

/// The name of the file that notes the damage.
const NOTE: &str = "damaged";

/// The maximum number of reported problems.
const NAMED: usize = 4;

/// Checks the structure of the database pages.
pub(crate) fn check_pages(connection: &Connection) -> Result<(), SqliteError> {
    ask(connection, "PRAGMA quick_check(4)")
}

/// Checks the pages, the indexes and every stored value.
pub(crate) fn check_all(connection: &Connection) -> Result<(), SqliteError> {
    ask(connection, "PRAGMA integrity_check(4)")?;
    let image = load(connection)?;
    read_each(connection, &format!("SELECT {TASK} FROM tasks"), |row| {
        record::task(row, &image).map(drop)
    })?;
    TABLES.iter().try_for_each(|table| {
        read_each(connection, &format!("SELECT * FROM {}", table.name), table.read)
    })
}

fn ask(connection: &Connection, pragma: &str) -> Result<(), SqliteError> {
    let mut problems = Vec::new();
    let mut select = connection.prepare(pragma)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        problems.push(row.get::<_, String>(0)?);
    }
    match problems.as_slice() {
        [ok] if ok == "ok" => Ok(()),
        _ => {
            // A row can contain several lines.
            let lines: Vec<&str> = problems.iter().flat_map(|problem| problem.lines()).collect();
            Err(SqliteError::Broken(lines[..lines.len().min(NAMED)].join("; ")))
        }
    }
}

fn read_each(
    connection: &Connection,
    sql: &str,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<(), SqliteError>,
) -> Result<(), SqliteError> {
    let mut select = connection.prepare(sql)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        read(row)?;
    }
    Ok(())
}

/// Notes the damage for the next process that opens the store.
pub(crate) fn note_damage(dir: &Path, detail: &str) {
    if let Err(error) = std::fs::write(dir.join(NOTE), format!("{detail}\n")) {
        tracing::warn!(%error, "it could not be noted that the store is damaged");
    }
}

/// Whether damage is noted.
pub(crate) fn is_damage_noted(dir: &Path) -> bool {
    dir.join(NOTE).exists()
}

/// Removes the note.
pub(crate) fn clear_damage_note(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(dir.join(NOTE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
