//! The removal of sessions, in bounded pieces.

use offshoot_core::{Owner, SessionId, Task};
use offshoot_store::StoreError;
use rusqlite::Connection;

use super::writer::StoreWriter;
use super::{Overlay, WriteTransaction};
use crate::error::SqliteError;
use crate::record::{self, TASK, owner_key};

/// Bounded deletions of a session's data by owner key.
const OWNED: [&str; 4] = [
    "DELETE FROM inbox WHERE owner = ?1 \
     AND number IN (SELECT number FROM inbox WHERE owner = ?1 LIMIT ?2)",
    "DELETE FROM message_keys WHERE owner = ?1 AND (sender, key) IN \
     (SELECT sender, key FROM message_keys WHERE owner = ?1 LIMIT ?2)",
    "DELETE FROM blocks WHERE rowid IN (SELECT rowid FROM blocks WHERE owner = ?1 LIMIT ?2)",
    "DELETE FROM counters WHERE owner = ?1 \
     AND name IN (SELECT name FROM counters WHERE owner = ?1 LIMIT ?2)",
];

/// The log is deleted from the end, so that a reader sees a shorter log and no gap.
const LOG: &str = "DELETE FROM log WHERE last IN \
     (SELECT last FROM log WHERE session = ?1 ORDER BY last DESC LIMIT ?2)";

/// The result of one piece of a removal.
struct RemovedPiece {
    tasks: Vec<Task>,
    items: usize,
    remaining: Remaining,
}

/// Whether the session has data left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remaining {
    Some,
    None,
}

impl StoreWriter<'_> {
    /// Deletes up to `limit` items of a session that is being removed.
    pub(crate) fn remove(&mut self, id: SessionId, limit: usize) -> Result<usize, StoreError> {
        let Some(number) = self.removing(id) else { return Ok(0) };
        let connection = self.connection;
        let (removed, overlay) = self.transact(|transaction| {
            let removed = transaction.remove(connection, (id, number), limit.max(1))?;
            // A reader that sees the new clock waits until the image has changed, too.
            transaction.overlay.tick();
            transaction.flush()?;
            Ok(removed)
        })?;
        let items = removed.items;
        self.finish_removal(id, removed, &overlay);
        Ok(items)
    }

    /// The number of a session that is being removed.
    fn removing(&self, id: SessionId) -> Option<i64> {
        let image = self.shared.image.read();
        image.entries.get(&id).filter(|entry| entry.session.is_removing()).map(|entry| entry.number)
    }

    /// Updates the image, then deletes the blobs.
    fn finish_removal(&self, id: SessionId, removed: RemovedPiece, overlay: &Overlay) {
        let mut image = self.shared.image.write();
        removed.tasks.iter().for_each(|task| image.delete(task));
        let gone = if removed.remaining == Remaining::None { image.remove(id) } else { None };
        image.clock = overlay.clock;
        drop(image);
        self.shared.applied.set(overlay.clock);
        if let Some(entry) = gone {
            entry.notifier.notify_waiters();
        }
        for task in removed.tasks {
            self.shared.blobs.remove(task.id());
        }
    }
}

impl WriteTransaction<'_, '_> {
    fn remove(
        &mut self,
        connection: &Connection,
        (id, number): (SessionId, i64),
        limit: usize,
    ) -> Result<RemovedPiece, SqliteError> {
        let tasks = self.newest(connection, number, limit)?;
        for task in &tasks {
            self.delete(connection, task)?;
        }
        let mut items = tasks.len();
        let room = |items: usize| i64::try_from(limit - items).unwrap_or(i64::MAX);
        let owner = owner_key(Owner::Session(id));
        for sql in OWNED {
            if items < limit {
                items += connection.prepare_cached(sql)?.execute((owner, room(items)))?;
            }
        }
        if items < limit {
            items += connection.prepare_cached(LOG)?.execute((number, room(items)))?;
        }
        let remaining = if items < limit { Remaining::None } else { Remaining::Some };
        if remaining == Remaining::None {
            items += connection
                .prepare_cached("DELETE FROM sessions WHERE number = ?1")?
                .execute([number])?;
        }
        Ok(RemovedPiece { tasks, items, remaining })
    }

    /// The newest tasks of a session. Children come before their owners.
    fn newest(
        &self,
        connection: &Connection,
        session: i64,
        limit: usize,
    ) -> Result<Vec<Task>, SqliteError> {
        let mut select = connection.prepare_cached(&format!(
            "SELECT {TASK} FROM tasks INDEXED BY tasks_session WHERE session = ?1 \
             ORDER BY ordinal DESC LIMIT ?2"
        ))?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = select.query((session, limit))?;
        let mut tasks = Vec::new();
        while let Some(row) = rows.next()? {
            tasks.push(record::task(row, self.image)?.1);
        }
        Ok(tasks)
    }
}
