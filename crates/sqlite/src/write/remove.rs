//! Sessions that are removed, piece by piece.

use offshoot_core::{Owner, SessionId, Task};
use offshoot_store::StoreError;
use rusqlite::Connection;

use super::{Ahead, Writing};
use crate::error::Fault;
use crate::record::{self, TASK, owner_key};
use crate::writer::Writer;

/// What a session has beside its tasks and its log, by the key of its owner.
/// None deletes more than it is told to.
const OWNED: [&str; 4] = [
    "DELETE FROM inbox WHERE owner = ?1 \
     AND number IN (SELECT number FROM inbox WHERE owner = ?1 LIMIT ?2)",
    "DELETE FROM message_keys WHERE owner = ?1 AND (sender, key) IN \
     (SELECT sender, key FROM message_keys WHERE owner = ?1 LIMIT ?2)",
    "DELETE FROM blocks WHERE rowid IN (SELECT rowid FROM blocks WHERE owner = ?1 LIMIT ?2)",
    "DELETE FROM counters WHERE owner = ?1 \
     AND name IN (SELECT name FROM counters WHERE owner = ?1 LIMIT ?2)",
];

/// Its log, the newest first: whoever still reads it finds that it ends, and
/// not that something is missing.
const LOG: &str = "DELETE FROM log WHERE last IN \
     (SELECT last FROM log WHERE session = ?1 ORDER BY last DESC LIMIT ?2)";

/// What was deleted of a session.
struct Removed {
    tasks: Vec<Task>,
    things: usize,
    rest: Rest,
}

/// Whether anything of a session is left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Some,
    None,
}

impl Writer<'_> {
    /// Deletes up to `limit` things of a session that is being removed.
    pub(crate) fn remove(&mut self, id: SessionId, limit: usize) -> Result<usize, StoreError> {
        let Some(number) = self.removing(id) else { return Ok(0) };
        let connection = self.connection;
        let (removed, ahead) = self.transact(|writing| {
            let removed = writing.remove(connection, (id, number), limit.max(1))?;
            // A reader that sees this waits for the image to show it, too.
            writing.ahead.tick();
            writing.flush()?;
            Ok(removed)
        })?;
        let things = removed.things;
        self.let_go(id, removed, &ahead);
        Ok(things)
    }

    /// The number of a session that is being removed.
    fn removing(&self, id: SessionId) -> Option<i64> {
        let image = self.shared.image.read();
        image.desks.get(&id).filter(|desk| desk.session.is_removing()).map(|desk| desk.number)
    }

    /// Shows the image what was deleted, then removes the files.
    fn let_go(&self, id: SessionId, removed: Removed, ahead: &Ahead) {
        let mut image = self.shared.image.write();
        removed.tasks.iter().for_each(|task| image.delete(task));
        let gone = if removed.rest == Rest::None { image.remove(id) } else { None };
        image.clock = ahead.clock;
        drop(image);
        self.shared.applied.set(ahead.clock);
        if let Some(desk) = gone {
            desk.bell.notify_waiters();
        }
        for task in removed.tasks {
            self.shared.blobs.remove(task.id());
        }
    }
}

impl Writing<'_, '_> {
    fn remove(
        &mut self,
        connection: &Connection,
        (id, number): (SessionId, i64),
        limit: usize,
    ) -> Result<Removed, Fault> {
        let tasks = self.newest(connection, number, limit)?;
        for task in &tasks {
            self.delete(connection, task)?;
        }
        let mut things = tasks.len();
        let room = |things: usize| i64::try_from(limit - things).unwrap_or(i64::MAX);
        let owner = owner_key(Owner::Session(id));
        for sql in OWNED {
            if things < limit {
                things += connection.prepare_cached(sql)?.execute((owner, room(things)))?;
            }
        }
        if things < limit {
            things += connection.prepare_cached(LOG)?.execute((number, room(things)))?;
        }
        let rest = if things < limit { Rest::None } else { Rest::Some };
        if rest == Rest::None {
            things += connection
                .prepare_cached("DELETE FROM sessions WHERE number = ?1")?
                .execute([number])?;
        }
        Ok(Removed { tasks, things, rest })
    }

    /// The last spawned tasks of a session: those that are owned come before
    /// their owners.
    fn newest(
        &self,
        connection: &Connection,
        session: i64,
        limit: usize,
    ) -> Result<Vec<Task>, Fault> {
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
