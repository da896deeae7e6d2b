//! Connections to the file, each set up for what it is used for.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::folder::{Folder, Medium};

/// The file of a data folder.
pub(crate) const FILE: &str = "offshoot.db";

/// Pages that the log holds before they are moved into the file.
const CHECKPOINT_PAGES: u32 = 4_000;

/// What the log shrinks to after a burst, in bytes.
const LOG_BYTES: u32 = 64 << 20;

/// How much of the file the writer keeps in memory, in KiB. New rows go to the
/// ends of tables, so what it works on is small; a cache would fill up with what
/// nobody asks for again.
const WRITER_CACHE: i64 = 4 << 10;

/// How much each reader keeps, in KiB.
const READER_CACHE: i64 = 1 << 10;

/// The connection that writes.
pub(crate) fn writer(folder: &Folder) -> rusqlite::Result<Connection> {
    let connection = match folder.medium {
        Medium::Disk => Connection::open_with_flags(
            folder.path.join(FILE),
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        Medium::Memory => memory(&folder.path)?,
    };
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    if let Some(pages) = folder.pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(connection)
}

/// A connection that reads.
pub(crate) fn reader(folder: &Folder) -> rusqlite::Result<Connection> {
    let connection = match folder.medium {
        Medium::Disk => Connection::open_with_flags(
            folder.path.join(FILE),
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        Medium::Memory => memory(&folder.path)?,
    };
    connection.pragma_update(None, "cache_size", -READER_CACHE)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A connection that looks at a file without leaving a trace of it.
pub(crate) fn observer(file: &Path) -> rusqlite::Result<Connection> {
    let log = beside(file, "-wal");
    let unmerged = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    if !unmerged {
        return Connection::open_with_flags(
            uri(file, "mode=ro&immutable=1"),
            OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        );
    }
    // The log must be read too. Exclusive locking keeps its index in memory
    // instead of in a file, and nothing is merged at the end.
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// What becomes of the log when the connection closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogAtClose {
    /// It stays. SQLite removes it by its name, which may be another store's by
    /// now, and a log that is missing counts as damage unless the store was
    /// closed.
    Kept,
    /// It is merged and removed.
    Removed,
}

/// Says what becomes of the log when the connection closes.
pub(crate) fn at_close(connection: &Connection, log: LogAtClose) {
    let keep = log == LogAtClose::Kept;
    if let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep) {
        tracing::warn!(%error, "the store's log may be removed");
    }
}

/// A file next to another, as SQLite names them.
pub(crate) fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn memory(path: &Path) -> rusqlite::Result<Connection> {
    // A name that starts with a slash is shared by the connections of this
    // process.
    let connection = Connection::open_with_flags(
        uri(path, "vfs=memdb"),
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(std::time::Duration::from_secs(60))?;
    Ok(connection)
}

fn uri(file: &Path, query: &str) -> String {
    let mut uri = String::from("file:");
    for byte in file.to_string_lossy().bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.push_str(&format!("%{byte:02X}")),
            _ => uri.push(char::from(byte)),
        }
    }
    uri.push('?');
    uri.push_str(query);
    uri
}
