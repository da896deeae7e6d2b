//! Expiry: deletion of tasks and events after their retention.

use offshoot_core::{Change, Owner, RowId, SessionId, Stamp, Task};
use offshoot_store::StoreError;
use rusqlite::Connection;

use super::writer::{LogNotifiers, StoreWriter};
use super::{Overlay, WriteTransaction};
use crate::codec::{DecodeError, decode_chunk};
use crate::error::SqliteError;
use crate::record::{self, TASK, blob, column, owner_key};

/// The maximum number of logs that one call trims.
const LOGS: usize = 64;

/// A log whose events were counted and possibly deleted.
struct TrimmedLog {
    session: SessionId,
    last_deleted: u64,
    logged: u64,
}

#[derive(Default)]
struct ExpiredData {
    tasks: Vec<Task>,
    logs: Vec<TrimmedLog>,
}

impl StoreWriter<'_> {
    /// Deletes up to `limit` tasks whose retention has ended, and the events over the
    /// limit.
    pub(crate) fn expire(&mut self, now: Stamp, limit: usize) -> Result<usize, StoreError> {
        let retention = *self.shared.retention.lock();
        let connection = self.connection;
        let (expired, overlay) = self.transact(|transaction| {
            let mut expired = ExpiredData::default();
            let cuts = (now.before(retention.delivered), now.before(retention.undelivered));
            expired.tasks = transaction.due(connection, cuts, limit)?;
            for task in &expired.tasks {
                transaction.delete(connection, task)?;
                let session = task.spec.lineage.session;
                transaction.overlay.record(session, Some(task.id()), now, Change::Deleted);
            }
            expired.logs = transaction.trim_logs(connection, retention.events.max(1) as u64)?;
            if !expired.tasks.is_empty() {
                transaction.flush()?;
            }
            Ok(expired)
        })?;
        let deleted = expired.tasks.len();
        self.finish_expiry(expired, overlay, retention.in_memory);
        Ok(deleted)
    }

    /// Updates the image, then deletes the blobs.
    fn finish_expiry(&self, expired: ExpiredData, overlay: Overlay, keep: usize) {
        let mut notifiers = LogNotifiers::default();
        let mut image = self.shared.image.write();
        expired.tasks.iter().for_each(|task| image.delete(task));
        for log in expired.logs {
            if let Some(entry) = image.entries.get_mut(&log.session) {
                entry.last_deleted = entry.last_deleted.max(log.last_deleted);
                entry.logged = Some(log.logged);
            }
        }
        for image_change in overlay.image_changes {
            notifiers.add(&image_change);
            image.apply(image_change, keep);
        }
        image.clock = overlay.clock;
        notifiers
            .resolve(|session| image.entries.get(&session).map(|entry| entry.notifier.clone()));
        drop(image);
        self.shared.applied.set(overlay.clock);
        notifiers.notify();
        for task in expired.tasks {
            self.shared.blobs.remove(task.id());
        }
    }
}

impl WriteTransaction<'_, '_> {
    /// Ended tasks that are read and older than the first stamp, or older than the second.
    fn due(
        &mut self,
        connection: &Connection,
        (delivered, undelivered): (Stamp, Stamp),
        limit: usize,
    ) -> Result<Vec<Task>, SqliteError> {
        let mut due = Vec::new();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {TASK} FROM tasks WHERE phase >= 3 AND since < ?1 ORDER BY since"
        ))?;
        // The later stamp bounds the search.
        let cut = delivered.max(undelivered);
        let mut rows = select.query([cut.as_micros()])?;
        while due.len() < limit
            && let Some(row) = rows.next()?
        {
            let (_, task) = record::task(row, self.image)?;
            let cut = match self.has_reader(&task) && unread_row(connection, &task)?.is_some() {
                true => undelivered,
                false => delivered,
            };
            if task.since < cut {
                due.push(task);
            }
        }
        Ok(due)
    }

    /// Whether the owner of a task can still read its result.
    fn has_reader(&self, task: &Task) -> bool {
        match task.owner() {
            Owner::Session(_) => true,
            Owner::Task(owner) => self.image.index.task(owner).is_some_and(Task::is_live),
        }
    }

    /// Deletes a task and its data.
    pub(super) fn delete(
        &mut self,
        connection: &Connection,
        task: &Task,
    ) -> Result<(), SqliteError> {
        let id = task.id();
        if let Some((owner, number)) = unread_row(connection, task)? {
            self.sql.ack.execute((owner, number, RowId::from(id).to_bytes()))?;
        }
        let of_task = [
            "DELETE FROM specs WHERE ordinal = (SELECT ordinal FROM tasks WHERE id = ?1)",
            "DELETE FROM moved WHERE number = (SELECT told FROM tasks WHERE id = ?1)",
            "DELETE FROM tasks WHERE id = ?1",
            "DELETE FROM returned WHERE task = ?1",
            "DELETE FROM steps WHERE task = ?1",
            "DELETE FROM questions WHERE task = ?1",
            "DELETE FROM timers WHERE task = ?1",
        ];
        for sql in of_task {
            connection.prepare_cached(sql)?.execute([id.to_bytes()])?;
        }
        let of_owner = [
            "DELETE FROM inbox WHERE owner = ?1",
            "DELETE FROM message_keys WHERE owner = ?1",
            "DELETE FROM blocks WHERE owner = ?1",
            "DELETE FROM counters WHERE owner = ?1",
        ];
        for sql in of_owner {
            connection.prepare_cached(sql)?.execute([owner_key(Owner::Task(id))])?;
        }
        // Only the task could use its keys in the owner's inbox again.
        let used = (owner_key(task.owner()), owner_key(Owner::Task(id)));
        connection
            .prepare_cached("DELETE FROM message_keys WHERE owner = ?1 AND sender = ?2")?
            .execute(used)?;
        let count_targets = self.count_targets(task)?;
        self.overlay.count_out(self.image, count_targets, task.state.phase());
        Ok(())
    }

    fn trim_logs(
        &mut self,
        connection: &Connection,
        keep: u64,
    ) -> Result<Vec<TrimmedLog>, SqliteError> {
        let long = |logged: Option<u64>| logged.is_none_or(|logged| logged > keep);
        let entries = self.image.entries.iter().filter(|(_, entry)| long(entry.logged));
        let entries: Vec<_> = entries.take(LOGS).map(|(id, entry)| (*id, entry.number)).collect();
        let mut trimmed = Vec::with_capacity(entries.len());
        for (session, number) in entries {
            let mut count = connection
                .prepare_cached("SELECT coalesce(sum(events), 0) FROM log WHERE session = ?1")?;
            let logged: i64 = count.query_row([number], |row| row.get(0))?;
            trimmed.push(self.trim(connection, (session, number), logged as u64, keep)?);
        }
        Ok(trimmed)
    }

    fn trim(
        &mut self,
        connection: &Connection,
        (session, number): (SessionId, i64),
        mut logged: u64,
        keep: u64,
    ) -> Result<TrimmedLog, SqliteError> {
        let mut excess = logged.saturating_sub(keep);
        let mut forgotten = 0;
        let mut select = connection.prepare_cached(
            "SELECT last, span, events, chunk FROM log WHERE session = ?1 ORDER BY last",
        )?;
        let mut emptied = Vec::new();
        let mut rows = select.query([number])?;
        while excess > 0
            && let Some(row) = rows.next()?
        {
            let (last, span, events): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (last, events) = (last as u64, events as u64);
            if events <= excess {
                excess -= events;
                logged -= events;
                forgotten = last;
                emptied.push(last);
                continue;
            }
            // The chunk is kept for its newer events.
            let base = last.wrapping_sub(span as u64);
            let chunk = decode_chunk(blob(row, 3)?, base, session)?;
            let newest = usize::try_from(excess).ok().and_then(|excess| chunk.get(excess - 1));
            forgotten =
                newest.ok_or(DecodeError::Strange("a chunk that is too short"))?.cursor.number();
            excess = 0;
        }
        drop(rows);
        for last in emptied {
            let sql = "DELETE FROM log WHERE last = ?1";
            connection.prepare_cached(sql)?.execute([column(last)])?;
        }
        if forgotten > 0 {
            self.sql.forget_events.execute((number, column(forgotten)))?;
        }
        Ok(TrimmedLog { session, last_deleted: forgotten, logged })
    }
}

/// The owner and the number of a task's result row, if it is unread.
pub(crate) fn unread_row(
    connection: &Connection,
    task: &Task,
) -> Result<Option<(Vec<u8>, i64)>, SqliteError> {
    let mut select = connection.prepare_cached("SELECT told FROM tasks WHERE id = ?1")?;
    let told: Option<i64> = match select.query([task.id().to_bytes()])?.next()? {
        Some(row) => row.get(0)?,
        None => None,
    };
    let Some(number) = told else { return Ok(None) };
    let mut pending = connection
        .prepare_cached("SELECT 1 FROM inbox WHERE owner = ?1 AND number = ?2 AND id = ?3")?;
    let id = RowId::from(task.id()).to_bytes();
    let owner = owner_key(task.owner()).to_vec();
    if pending.exists((&owner, number, id))? {
        return Ok(Some((owner, number)));
    }
    let mut select = connection.prepare_cached("SELECT owner FROM moved WHERE number = ?1")?;
    let owner: Option<Vec<u8>> = match select.query([number])?.next()? {
        Some(row) => row.get(0)?,
        None => None,
    };
    let Some(owner) = owner else { return Ok(None) };
    Ok(pending.exists((&owner, number, id))?.then_some((owner, number)))
}
