//! The tables of the file, and how a row of each is read.

use offshoot_core::{Question, SessionId, Stamp};
use rusqlite::Row;

use crate::codec::{Damaged, Decoder, decode_block, decode_chunk, decode_row, decode_value};
use crate::error::Fault;
use crate::record::{decode_session, owner_id};

/// One table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// Reads a row with all its columns, and drops what it has read.
    pub(crate) read: fn(&Row<'_>) -> Result<(), Fault>,
}

/// How the rows of a table are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// By a number. The index, if there is one, has the number of each row and
    /// names the task or session that the row is part of.
    Numbered(Option<Index>),
    /// By its owner, the first column, and what follows.
    Owned,
}

/// An index that shows which rows there were when the table does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) name: &'static str,
    /// The column that says whose row it is.
    pub(crate) whose: &'static str,
}

const fn numbered(name: &'static str, read: fn(&Row<'_>) -> Result<(), Fault>) -> Table {
    Table { name, shape: Shape::Numbered(None), read }
}

const fn indexed(
    name: &'static str,
    index: Index,
    read: fn(&Row<'_>) -> Result<(), Fault>,
) -> Table {
    Table { name, shape: Shape::Numbered(Some(index)), read }
}

const fn owned(name: &'static str, read: fn(&Row<'_>) -> Result<(), Fault>) -> Table {
    Table { name, shape: Shape::Owned, read }
}

/// The tables beside `clock`, `sessions` and `tasks`.
pub(crate) const PARTS: [Table; 12] = [
    numbered("specs", any),
    owned("inbox", inbox),
    numbered("moved", any),
    owned("message_keys", any),
    owned("returned", any),
    indexed("blocks", Index { name: "blocks_position", whose: "owner" }, block),
    indexed("steps", Index { name: "steps_key", whose: "task" }, step),
    indexed("questions", Index { name: "questions_number", whose: "task" }, question),
    indexed("timers", Index { name: "timers_key", whose: "task" }, any),
    owned("counters", any),
    numbered("log", chunk),
    SESSIONS,
];

/// The table of sessions.
pub(crate) const SESSIONS: Table = numbered("sessions", session);

/// The table of tasks. Its rows are read together with their specs.
pub(crate) const TASKS: Table = indexed("tasks", Index { name: "tasks_id", whose: "id" }, any);

fn any(_: &Row<'_>) -> Result<(), Fault> {
    Ok(())
}

fn bytes<'r>(row: &'r Row<'_>, column: &str) -> Result<Option<&'r [u8]>, Fault> {
    let value = row.get_ref(column)?;
    Ok(value.as_blob_or_null().map_err(|_| Damaged::Strange("no bytes where some belong"))?)
}

fn some_bytes<'r>(row: &'r Row<'_>, column: &str) -> Result<&'r [u8], Fault> {
    Ok(bytes(row, column)?.ok_or(Damaged::Short)?)
}

fn session(row: &Row<'_>) -> Result<(), Fault> {
    decode_session(some_bytes(row, "record")?)?;
    Ok(())
}

fn inbox(row: &Row<'_>) -> Result<(), Fault> {
    decode_row(some_bytes(row, "row")?, owner_id(some_bytes(row, "owner")?)?)?;
    Ok(())
}

fn block(row: &Row<'_>) -> Result<(), Fault> {
    decode_block(some_bytes(row, "block")?)?;
    Ok(())
}

fn step(row: &Row<'_>) -> Result<(), Fault> {
    if let Some(value) = bytes(row, "value")? {
        decode_value(value)?;
    }
    Ok(())
}

fn question(row: &Row<'_>) -> Result<(), Fault> {
    let _: Question = Decoder::new(some_bytes(row, "question")?)?.json()?;
    Ok(())
}

fn chunk(row: &Row<'_>) -> Result<(), Fault> {
    // The events are not used, so any session will do.
    let session = SessionId::mint(Stamp::from_millis(0), 0);
    decode_chunk(some_bytes(row, "chunk")?, 0, session)?;
    Ok(())
}
