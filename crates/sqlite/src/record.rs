//! A row of a table, read as the record it holds.

use std::sync::Arc;

use offshoot_core::{Caller, Counts, Owner, Session, SessionId, Space, Task, TaskId};
use rusqlite::Row;

use crate::codec::{
    Damaged, Decoder, Encoder, SpecColumns, StateColumns, decode_spec, decode_state, id,
};
use crate::error::Fault;

/// The columns that [`task`] reads, in its order.
pub(crate) const TASK: &str = "tasks.ordinal, tasks.id, tasks.session, tasks.name, tasks.phase, \
     tasks.since, tasks.state, tasks.key, coalesce(tasks.spec, \
     (SELECT specs.spec FROM specs WHERE specs.ordinal = tasks.ordinal))";

/// Whose session a number is.
pub(crate) trait Sessions {
    /// The session of this number, and its space.
    fn numbered(&self, number: i64) -> Result<Option<(SessionId, Space)>, Fault>;
}

/// The task of a row of [`TASK`] columns, and its ordinal.
pub(crate) fn task(row: &Row<'_>, sessions: &impl Sessions) -> Result<(i64, Task), Fault> {
    let ordinal = row.get(0)?;
    let task = id(row.get(1)?, TaskId::from_bytes)?;
    let (session, space) = sessions
        .numbered(row.get(2)?)?
        .ok_or(Damaged::Strange("a task of a session that is not there"))?;
    let name = text(row, 3)?;
    let columns = StateColumns { phase: row.get(4)?, since: row.get(5)? };
    let key = row.get_ref(7)?.as_str_or_null().map_err(|_| Damaged::Strange("a key of bytes"))?;
    let spec = SpecColumns { id: task, session, space, name, key };
    let spec = decode_spec(blob(row, 8)?, spec)?;
    Ok((ordinal, decode_state(blob(row, 6)?, columns, Arc::new(spec))?))
}

/// The bytes in a column.
pub(crate) fn blob<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8], Fault> {
    let value = row.get_ref(column)?;
    Ok(value.as_blob().map_err(|_| Damaged::Strange("no bytes where there must be some"))?)
}

/// The text in a column.
pub(crate) fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, Fault> {
    let value = row.get_ref(column)?;
    Ok(value.as_str().map_err(|_| Damaged::Strange("no text where there must be some"))?)
}

/// What names an owner in a side table.
pub(crate) fn owner_key(owner: Owner) -> [u8; 17] {
    let (sort, id) = match owner {
        Owner::Session(id) => (0, id.to_bytes()),
        Owner::Task(id) => (1, id.to_bytes()),
    };
    let mut key = [sort; 17];
    key[1..].copy_from_slice(&id);
    key
}

/// The owner of an [`owner_key`].
pub(crate) fn owner(key: &[u8]) -> Result<Owner, Damaged> {
    let bytes = owner_id(key)?;
    match key.first() {
        Some(0) => Ok(Owner::Session(id(bytes, SessionId::from_bytes)?)),
        _ => Ok(Owner::Task(id(bytes, TaskId::from_bytes)?)),
    }
}

/// What names a sender in the table of keys.
pub(crate) fn sender_key(sender: Caller) -> [u8; 17] {
    // No owner begins so.
    const HOST: [u8; 17] = [2; 17];
    sender.as_owner().map_or(HOST, owner_key)
}

/// The id part of an [`owner_key`].
pub(crate) fn owner_id(key: &[u8]) -> Result<[u8; 16], Damaged> {
    key.get(1..).and_then(|id| id.try_into().ok()).ok_or(Damaged::Strange("an owner that is none"))
}

pub(crate) fn encode_session(session: &Session) -> Vec<u8> {
    let mut out = Encoder::new(128);
    out.json(session);
    out.finish()
}

pub(crate) fn decode_session(bytes: &[u8]) -> Result<Session, Damaged> {
    Decoder::new(bytes)?.json()
}

/// How many tasks a session has in all, and how many of them it owns itself.
pub(crate) fn encode_totals(counts: &[Counts]) -> Vec<u8> {
    let mut out = Encoder::new(64);
    counts.iter().for_each(|counts| out.json(counts));
    out.finish()
}

pub(crate) fn decode_totals<const N: usize>(bytes: &[u8]) -> Result<[Counts; N], Damaged> {
    let mut from = Decoder::new(bytes)?;
    let mut totals = [Counts::default(); N];
    for counts in &mut totals {
        *counts = from.json()?;
    }
    Ok(totals)
}

/// A number of the clock as SQLite keeps it; past its range, the last one.
pub(crate) fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
