//! The format of the database, and migrations from older formats.
//!
//! Migrations are numbered from 1, only go forward and never change after a release.
//! `PRAGMA user_version` is the number of applied migrations.

use rusqlite::Connection;

/// All migrations in order.
const MIGRATIONS: [&str; 5] = [
    include_str!("../../migrations/0001_records.sql"),
    include_str!("../../migrations/0002_children.sql"),
    include_str!("../../migrations/0003_senders.sql"),
    include_str!("../../migrations/0004_names.sql"),
    include_str!("../../migrations/0005_removal.sql"),
];

/// The format that this version reads and writes.
pub(crate) const FORMAT: u32 = MIGRATIONS.len() as u32;

/// The application id in the SQLite header: "Offs".
pub(crate) const APPLICATION: u32 = 0x4f66_6673;

/// Migrates a database to the current format, with a transaction for each step.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    migrate_to(connection, FORMAT)
}

pub(crate) fn migrate_to(connection: &mut Connection, format: u32) -> rusqlite::Result<()> {
    let done: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let wanted = MIGRATIONS.iter().zip(1u32..).take_while(|(_, number)| *number <= format);
    for (sql, number) in wanted.filter(|(_, number)| *number > done) {
        let step = connection.transaction()?;
        step.execute_batch(sql)?;
        step.pragma_update(None, "application_id", APPLICATION)?;
        step.pragma_update(None, "user_version", number)?;
        step.commit()?;
    }
    Ok(())
}
