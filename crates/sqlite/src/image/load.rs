//! Loading of the image when the store opens.
//!
//! Only sessions and live tasks are read. Ended tasks are counted by the stored totals, so
//! their number does not affect the cost.

use offshoot_core::{Owner, TaskCounts};
use offshoot_store::TaskScope;
use rusqlite::Connection;

use super::{StoreImage, UnreadCounts};
use crate::codec::DecodeError;
use crate::error::SqliteError;
use crate::record::{self, TASK, blob, decode_session, decode_totals, owner};

pub(crate) fn load(connection: &Connection) -> Result<StoreImage, SqliteError> {
    let mut image = StoreImage::default();
    let clock: i64 = connection.query_row("SELECT stands FROM clock", [], |row| row.get(0))?;
    image.clock = clock as u64;
    let mut totals = load_sessions(connection, &mut image)?;
    load_live(connection, &mut image, &mut totals)?;
    let mut all = Vec::new();
    for (within, counts) in totals {
        if let TaskScope::Session(_) = within {
            all.push(counts);
        }
        image.index.remember_counts(within, counts);
    }
    image.index.remember_counts(TaskScope::Everything, sum(&all)?);
    load_unread(connection, &mut image)?;
    Ok(image)
}

pub(crate) type Totals = Vec<(TaskScope, TaskCounts)>;

pub(crate) fn load_sessions(
    connection: &Connection,
    image: &mut StoreImage,
) -> Result<Totals, SqliteError> {
    let mut totals = Vec::new();
    let mut select = connection.prepare(
        "SELECT number, ordinal, forgotten, record, totals FROM sessions ORDER BY number",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let session = decode_session(blob(row, 3)?)?;
        if let Some(bytes) = row.get_ref(4)?.as_blob_or_null().map_err(|_| strange())? {
            let [within, own] = decode_totals(bytes)?;
            totals.push((TaskScope::Session(session.id), within));
            totals.push((TaskScope::Owner(Owner::Session(session.id)), own));
        }
        let (ordinal, forgotten): (i64, i64) = (row.get(1)?, row.get(2)?);
        image.open(session, row.get(0)?, ordinal as u64, forgotten as u64);
    }
    Ok(totals)
}

fn load_live(
    connection: &Connection,
    image: &mut StoreImage,
    totals: &mut Totals,
) -> Result<(), SqliteError> {
    let mut live = connection
        .prepare("SELECT ordinal FROM tasks INDEXED BY tasks_live WHERE phase < 3")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<i64>>>()?;
    // Table order, in which parents come before their children.
    live.sort_unstable();
    let mut select =
        connection.prepare(&format!("SELECT {TASK}, totals FROM tasks WHERE ordinal = ?1"))?;
    for ordinal in live {
        let mut rows = select.query([ordinal])?;
        let row = rows.next()?.ok_or(DecodeError::Strange("an index of a task that is gone"))?;
        let (ordinal, task) = record::task(row, image)?;
        if let Some(bytes) = row.get_ref(9)?.as_blob_or_null().map_err(|_| strange())? {
            let [owned] = decode_totals(bytes)?;
            totals.push((TaskScope::Owner(Owner::Task(task.id())), owned));
        }
        image.index.insert(task, ordinal as u64);
    }
    Ok(())
}

fn load_unread(connection: &Connection, image: &mut StoreImage) -> Result<(), SqliteError> {
    // The keys of task inboxes begin with one, those of session inboxes with zero.
    let mut select = connection.prepare(
        "SELECT owner, count(*), sum(message) FROM inbox WHERE owner >= x'01' GROUP BY owner \
         UNION ALL SELECT owner, count(*), count(*) FROM inbox INDEXED BY inbox_messages \
         WHERE owner < x'01' AND message = 1 GROUP BY owner",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let owner = owner(blob(row, 0)?)?;
        let (rows, messages): (i64, i64) = (row.get(1)?, row.get(2)?);
        image.unread.insert(owner, UnreadCounts { rows: rows as u64, messages: messages as u64 });
    }
    Ok(())
}

/// Adds counts up.
fn sum(all: &[TaskCounts]) -> Result<TaskCounts, SqliteError> {
    let mut phases = [0u64; 7];
    let mut spawned = 0u64;
    for counts in all {
        for (sum, phase) in phases.iter_mut().zip(offshoot_core::Phase::ALL) {
            *sum += counts.of(phase);
        }
        spawned += counts.spawned();
    }
    let sum = serde_json::json!({ "phases": phases, "spawned": spawned });
    Ok(serde_json::from_value(sum)
        .map_err(|_| DecodeError::Strange("totals that do not add up"))?)
}

fn strange() -> DecodeError {
    DecodeError::Strange("totals that are not bytes")
}
