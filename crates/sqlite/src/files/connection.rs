//! Database connections for each use.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::options::{Storage, StoreOptions};

/// The name of the database file in the data directory.
pub(crate) const FILE: &str = "offshoot.db";

/// The number of log pages that triggers a checkpoint.
const CHECKPOINT_PAGES: u32 = 4_000;

/// The size in bytes to which the log shrinks after a burst.
const LOG_BYTES: u32 = 64 << 20;

/// The cache size of the writer in KiB. New rows are appended to the tables, so its working
/// set is small.
const WRITER_CACHE: i64 = 4 << 10;

/// The cache size of each reader in KiB.
const READER_CACHE: i64 = 1 << 10;

/// The connection of the writer.
pub(crate) fn writer(options: &StoreOptions) -> rusqlite::Result<Connection> {
    let connection = match options.storage {
        Storage::Disk => Connection::open_with_flags(
            options.path.join(FILE),
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        Storage::Memory => memory(&options.path)?,
    };
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    if let Some(pages) = options.pages {
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(connection)
}

/// The connection of a reader.
pub(crate) fn reader(options: &StoreOptions) -> rusqlite::Result<Connection> {
    let connection = match options.storage {
        Storage::Disk => Connection::open_with_flags(
            options.path.join(FILE),
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?,
        Storage::Memory => memory(&options.path)?,
    };
    connection.pragma_update(None, "cache_size", -READER_CACHE)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A connection for inspection that leaves no trace in the directory.
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
    // The log must be read, too. Exclusive locking keeps its index in memory instead of a
    // file, and no checkpoint follows at the end.
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// The treatment of the log when the connection closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogAtClose {
    /// The log stays. SQLite would remove it by name, which may belong to another store by
    /// now. Without a clean close, a missing log counts as damage.
    Kept,
    /// The log is merged into the file and removed.
    Removed,
}

/// Sets what happens to the log when the connection closes.
pub(crate) fn at_close(connection: &Connection, log: LogAtClose) {
    let keep = log == LogAtClose::Kept;
    if let Err(error) = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep) {
        tracing::warn!(%error, "the store's log may be removed");
    }
}

/// The path of a file that belongs to another one, as SQLite names them.
pub(crate) fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn memory(path: &Path) -> rusqlite::Result<Connection> {
    // A name that starts with a slash is shared by all connections of the process.
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
