//! The tables of the database, and how their rows are read.

use offshoot_core::{Question, SessionId, Stamp};
use rusqlite::Row;

use crate::codec::{DecodeError, Decoder, decode_block, decode_chunk, decode_row, decode_value};
use crate::error::SqliteError;
use crate::record::{decode_session, owner_id};

/// A table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableInfo {
    pub(crate) name: &'static str,
    pub(crate) shape: TableShape,
    /// Decodes all columns of a row and drops the values.
    pub(crate) read: fn(&Row<'_>) -> Result<(), SqliteError>,
}

/// The addressing of a table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableShape {
    /// By a row number. The index, if there is one, lists the row numbers together with the
    /// owning task or session.
    Numbered(Option<TableIndex>),
    /// By the owner, which is the first column of the primary key.
    Owned,
}

/// An index that lists a table's rows even if the table cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableIndex {
    pub(crate) name: &'static str,
    /// The column with the owner of the row.
    pub(crate) whose: &'static str,
}

const fn numbered(name: &'static str, read: fn(&Row<'_>) -> Result<(), SqliteError>) -> TableInfo {
    TableInfo { name, shape: TableShape::Numbered(None), read }
}

const fn indexed(
    name: &'static str,
    index: TableIndex,
    read: fn(&Row<'_>) -> Result<(), SqliteError>,
) -> TableInfo {
    TableInfo { name, shape: TableShape::Numbered(Some(index)), read }
}

const fn owned(name: &'static str, read: fn(&Row<'_>) -> Result<(), SqliteError>) -> TableInfo {
    TableInfo { name, shape: TableShape::Owned, read }
}

/// All tables except `clock`, `sessions` and `tasks`, and the sessions again.
pub(crate) const TABLES: [TableInfo; 12] = [
    numbered("specs", any),
    owned("inbox", inbox),
    numbered("moved", any),
    owned("message_keys", any),
    owned("returned", any),
    indexed("blocks", TableIndex { name: "blocks_position", whose: "owner" }, block),
    indexed("steps", TableIndex { name: "steps_key", whose: "task" }, step),
    indexed("questions", TableIndex { name: "questions_number", whose: "task" }, question),
    indexed("timers", TableIndex { name: "timers_key", whose: "task" }, any),
    owned("counters", any),
    numbered("log", chunk),
    SESSIONS,
];

/// The table of sessions.
pub(crate) const SESSIONS: TableInfo = numbered("sessions", session);

/// The table of tasks. Its rows are read together with their specs.
pub(crate) const TASKS: TableInfo =
    indexed("tasks", TableIndex { name: "tasks_id", whose: "id" }, any);

fn any(_: &Row<'_>) -> Result<(), SqliteError> {
    Ok(())
}

fn bytes<'r>(row: &'r Row<'_>, column: &str) -> Result<Option<&'r [u8]>, SqliteError> {
    let value = row.get_ref(column)?;
    Ok(value.as_blob_or_null().map_err(|_| DecodeError::Strange("no bytes where some belong"))?)
}

fn some_bytes<'r>(row: &'r Row<'_>, column: &str) -> Result<&'r [u8], SqliteError> {
    Ok(bytes(row, column)?.ok_or(DecodeError::Short)?)
}

fn session(row: &Row<'_>) -> Result<(), SqliteError> {
    decode_session(some_bytes(row, "record")?)?;
    Ok(())
}

fn inbox(row: &Row<'_>) -> Result<(), SqliteError> {
    decode_row(some_bytes(row, "row")?, owner_id(some_bytes(row, "owner")?)?)?;
    Ok(())
}

fn block(row: &Row<'_>) -> Result<(), SqliteError> {
    decode_block(some_bytes(row, "block")?)?;
    Ok(())
}

fn step(row: &Row<'_>) -> Result<(), SqliteError> {
    if let Some(value) = bytes(row, "value")? {
        decode_value(value)?;
    }
    Ok(())
}

fn question(row: &Row<'_>) -> Result<(), SqliteError> {
    let _: Question = Decoder::new(some_bytes(row, "question")?)?.json()?;
    Ok(())
}

fn chunk(row: &Row<'_>) -> Result<(), SqliteError> {
    // The events are dropped, so any session id will do.
    let session = SessionId::mint(Stamp::from_millis(0), 0);
    decode_chunk(some_bytes(row, "chunk")?, 0, session)?;
    Ok(())
}
