//! What is past its retention, deleted.

use offshoot_core::{Change, Owner, RowId, SessionId, Stamp, Task};
use offshoot_store::StoreError;
use rusqlite::Connection;

use super::{Ahead, Writing};
use crate::codec::{Damaged, decode_chunk};
use crate::error::Fault;
use crate::record::{self, TASK, blob, column, owner_key};
use crate::writer::{Bells, Writer};

/// How many logs are trimmed at a time; the rest comes next time.
const LOGS: usize = 64;

/// A log that was trimmed, or only counted.
struct Trimmed {
    session: SessionId,
    forgotten: u64,
    logged: u64,
}

#[derive(Default)]
struct Expired {
    tasks: Vec<Task>,
    logs: Vec<Trimmed>,
}

impl Writer<'_> {
    /// Deletes up to `limit` tasks whose retention has ended, and the events
    /// that are too many.
    pub(crate) fn expire(&mut self, now: Stamp, limit: usize) -> Result<usize, StoreError> {
        let retention = *self.shared.retention.lock();
        let connection = self.connection;
        let (expired, ahead) = self.transact(|writing| {
            let mut expired = Expired::default();
            let cuts = (now.before(retention.delivered), now.before(retention.undelivered));
            expired.tasks = writing.due(connection, cuts, limit)?;
            for task in &expired.tasks {
                writing.delete(connection, task)?;
                let session = task.spec.lineage.session;
                writing.ahead.record(session, Some(task.id()), now, Change::Deleted);
            }
            expired.logs = writing.trim_logs(connection, retention.events.max(1) as u64)?;
            if !expired.tasks.is_empty() {
                writing.flush()?;
            }
            Ok(expired)
        })?;
        let deleted = expired.tasks.len();
        self.forget(expired, ahead, retention.in_memory);
        Ok(deleted)
    }

    /// Shows the image what was deleted, then removes the files.
    fn forget(&self, expired: Expired, ahead: Ahead, keep: usize) {
        let mut bells = Bells::default();
        let mut image = self.shared.image.write();
        expired.tasks.iter().for_each(|task| image.delete(task));
        for log in expired.logs {
            if let Some(desk) = image.desks.get_mut(&log.session) {
                desk.forgotten = desk.forgotten.max(log.forgotten);
                desk.logged = Some(log.logged);
            }
        }
        for op in ahead.ops {
            bells.note(&op);
            image.apply(op, keep);
        }
        image.clock = ahead.clock;
        bells.resolve(|session| image.desks.get(&session).map(|desk| desk.bell.clone()));
        drop(image);
        self.shared.applied.set(ahead.clock);
        bells.ring();
        for task in expired.tasks {
            self.shared.blobs.remove(task.id());
        }
    }
}

impl Writing<'_, '_> {
    /// Finished tasks that are older than the first cut and read, or older
    /// than the second.
    fn due(
        &mut self,
        connection: &Connection,
        (delivered, undelivered): (Stamp, Stamp),
        limit: usize,
    ) -> Result<Vec<Task>, Fault> {
        let mut due = Vec::new();
        let mut select = connection.prepare_cached(&format!(
            "SELECT {TASK} FROM tasks WHERE phase >= 3 AND since < ?1 ORDER BY since"
        ))?;
        // The longer of both spans bounds what must be looked at.
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

    /// Whether the owner of a task is still there to read of its end.
    fn has_reader(&self, task: &Task) -> bool {
        match task.owner() {
            Owner::Session(_) => true,
            Owner::Task(owner) => self.image.directory.task(owner).is_some_and(Task::is_live),
        }
    }

    /// Deletes a task and all that belongs to it.
    pub(super) fn delete(&mut self, connection: &Connection, task: &Task) -> Result<(), Fault> {
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
        // Nobody else can use the keys it has used with its owner, which may
        // stay for ever.
        let used = (owner_key(task.owner()), owner_key(Owner::Task(id)));
        connection
            .prepare_cached("DELETE FROM message_keys WHERE owner = ?1 AND sender = ?2")?
            .execute(used)?;
        let kin = self.kin(task)?;
        self.ahead.count_out(self.image, kin, task.state.phase());
        Ok(())
    }

    fn trim_logs(&mut self, connection: &Connection, keep: u64) -> Result<Vec<Trimmed>, Fault> {
        let long = |logged: Option<u64>| logged.is_none_or(|logged| logged > keep);
        let desks = self.image.desks.iter().filter(|(_, desk)| long(desk.logged));
        let desks: Vec<_> = desks.take(LOGS).map(|(id, desk)| (*id, desk.number)).collect();
        let mut trimmed = Vec::with_capacity(desks.len());
        for (session, number) in desks {
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
    ) -> Result<Trimmed, Fault> {
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
            // The chunk stays for its newer part.
            let base = last.wrapping_sub(span as u64);
            let chunk = decode_chunk(blob(row, 3)?, base, session)?;
            let newest = usize::try_from(excess).ok().and_then(|excess| chunk.get(excess - 1));
            forgotten =
                newest.ok_or(Damaged::Strange("a chunk that is too short"))?.cursor.number();
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
        Ok(Trimmed { session, forgotten, logged })
    }
}

/// Where the row about a task's end is, if it is unread.
pub(crate) fn unread_row(
    connection: &Connection,
    task: &Task,
) -> Result<Option<(Vec<u8>, i64)>, Fault> {
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
