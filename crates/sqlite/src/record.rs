//! Conversion between table rows and records.

use std::sync::Arc;

use offshoot_core::{Caller, Owner, SessionId, SessionRecord, Space, Task, TaskCounts, TaskId};
use rusqlite::Row;

use crate::codec::{
    DecodeError, Decoder, Encoder, SpecColumns, StateColumns, decode_spec, decode_state, id,
};
use crate::error::SqliteError;

/// The columns that [`task`] reads, in order.
pub(crate) const TASK: &str = "tasks.ordinal, tasks.id, tasks.session, tasks.name, tasks.phase, \
     tasks.since, tasks.state, tasks.key, coalesce(tasks.spec, \
     (SELECT specs.spec FROM specs WHERE specs.ordinal = tasks.ordinal))";

/// Lookup of sessions by their numbers.
pub(crate) trait SessionLookup {
    /// The id and the space of the session with this number.
    fn numbered(&self, number: i64) -> Result<Option<(SessionId, Space)>, SqliteError>;
}

/// The ordinal and the task of a row with [`TASK`] columns.
pub(crate) fn task(
    row: &Row<'_>,
    sessions: &impl SessionLookup,
) -> Result<(i64, Task), SqliteError> {
    let ordinal = row.get(0)?;
    let task = id(row.get(1)?, TaskId::from_bytes)?;
    let (session, space) = sessions
        .numbered(row.get(2)?)?
        .ok_or(DecodeError::Strange("a task of a session that is not there"))?;
    let name = text(row, 3)?;
    let columns = StateColumns { phase: row.get(4)?, since: row.get(5)? };
    let key =
        row.get_ref(7)?.as_str_or_null().map_err(|_| DecodeError::Strange("a key of bytes"))?;
    let spec = SpecColumns { id: task, session, space, name, key };
    let spec = decode_spec(blob(row, 8)?, spec)?;
    Ok((ordinal, decode_state(blob(row, 6)?, columns, Arc::new(spec))?))
}

/// The bytes in a column.
pub(crate) fn blob<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8], SqliteError> {
    let value = row.get_ref(column)?;
    Ok(value.as_blob().map_err(|_| DecodeError::Strange("no bytes where there must be some"))?)
}

/// The text in a column.
pub(crate) fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, SqliteError> {
    let value = row.get_ref(column)?;
    Ok(value.as_str().map_err(|_| DecodeError::Strange("no text where there must be some"))?)
}

/// The key of an owner in a side table.
pub(crate) fn owner_key(owner: Owner) -> [u8; 17] {
    let (sort, id) = match owner {
        Owner::Session(id) => (0, id.to_bytes()),
        Owner::Task(id) => (1, id.to_bytes()),
    };
    let mut key = [sort; 17];
    key[1..].copy_from_slice(&id);
    key
}

/// The owner with this [`owner_key`].
pub(crate) fn owner(key: &[u8]) -> Result<Owner, DecodeError> {
    let bytes = owner_id(key)?;
    match key.first() {
        Some(0) => Ok(Owner::Session(id(bytes, SessionId::from_bytes)?)),
        _ => Ok(Owner::Task(id(bytes, TaskId::from_bytes)?)),
    }
}

/// The key of a sender in the table of message keys.
pub(crate) fn sender_key(sender: Caller) -> [u8; 17] {
    // No owner key has this first byte.
    const HOST: [u8; 17] = [2; 17];
    sender.as_owner().map_or(HOST, owner_key)
}

/// The id part of an [`owner_key`].
pub(crate) fn owner_id(key: &[u8]) -> Result<[u8; 16], DecodeError> {
    key.get(1..)
        .and_then(|id| id.try_into().ok())
        .ok_or(DecodeError::Strange("an owner that is none"))
}

pub(crate) fn encode_session(session: &SessionRecord) -> Vec<u8> {
    let mut out = Encoder::new(128);
    out.json(session);
    out.finish()
}

pub(crate) fn decode_session(bytes: &[u8]) -> Result<SessionRecord, DecodeError> {
    Decoder::new(bytes)?.json()
}

/// Encodes the totals of a session or task.
pub(crate) fn encode_totals(counts: &[TaskCounts]) -> Vec<u8> {
    let mut out = Encoder::new(64);
    counts.iter().for_each(|counts| out.json(counts));
    out.finish()
}

pub(crate) fn decode_totals<const N: usize>(bytes: &[u8]) -> Result<[TaskCounts; N], DecodeError> {
    let mut from = Decoder::new(bytes)?;
    let mut totals = [TaskCounts::default(); N];
    for counts in &mut totals {
        *counts = from.json()?;
    }
    Ok(totals)
}

/// Converts a number to a column value, saturating at the maximum.
pub(crate) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
