//! Replacements for records that cannot be read.
//!
//! The indexes of a table often survive its rows. They contain the id, session and owner of
//! each task, which is enough to record it as lost and to notify the owner.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offshoot_core::{Name, Phase, SessionId, SessionRecord, Space, Task, TaskId};
use rusqlite::{Connection, params};

use super::losses::{Losses, lost_spec, lost_task};
use super::new_file::{NewFile, collect, now};
use crate::codec::{encode_spec, encode_state, id};
use crate::error::SqliteError;
use crate::image::StoreImage;
use crate::image::load_sessions;
use crate::record::{self, SessionLookup, TASK, encode_session};

/// The data in the indexes about a task whose row is missing.
#[derive(Clone, Debug)]
struct TaskTrace {
    ordinal: i64,
    id: TaskId,
    session: i64,
    owner: i64,
    name: String,
    key: Option<String>,
}

/// The data in the indexes about a session whose row is missing.
#[derive(Debug, Default)]
struct SessionTrace {
    id: Option<[u8; 16]>,
    /// The space and the name.
    name: Option<(String, String)>,
}

impl NewFile {
    /// Creates records for sessions that are only in indexes or referenced by tasks.
    pub(super) fn restore_sessions(&self, from: &Connection) -> Result<(), SqliteError> {
        let mut found: HashMap<i64, SessionTrace> = HashMap::new();
        let ids = "SELECT number, id FROM sessions INDEXED BY sqlite_autoindex_sessions_1";
        collect(from, ids, |row| {
            found.entry(row.get(0)?).or_default().id = Some(row.get(1)?);
            Ok(())
        });
        let names =
            "SELECT number, space, name FROM sessions INDEXED BY sqlite_autoindex_sessions_2";
        collect(from, names, |row| {
            found.entry(row.get(0)?).or_default().name = Some((row.get(1)?, row.get(2)?));
            Ok(())
        });
        collect(from, "SELECT DISTINCT session FROM tasks INDEXED BY tasks_session", |row| {
            found.entry(row.get(0)?).or_default();
            Ok(())
        });
        found.into_iter().try_for_each(|(number, trace)| self.make_session(number, trace))
    }

    /// Creates a record for a session that has none.
    fn make_session(&self, number: i64, trace: SessionTrace) -> Result<(), SqliteError> {
        let sql = "SELECT 1 FROM sessions WHERE number = ?1";
        if self.connection.prepare_cached(sql)?.exists([number])? {
            return Ok(());
        }
        let named = trace.name.unwrap_or_else(|| ("default".into(), format!("recovered-{number}")));
        let (space, name) = named;
        let name =
            Name::new(&name).unwrap_or_else(|_| Name::numbered("recovered", number.unsigned_abs()));
        let at = now();
        let known = trace.id.and_then(|bytes| id(bytes, SessionId::from_bytes).ok());
        let known = known.unwrap_or_else(|| SessionId::mint(at, number.unsigned_abs().into()));
        let session = SessionRecord::new(known, Space::new(&space), name, at);
        self.connection.execute(
            "INSERT OR IGNORE INTO sessions (number, id, space, name, ordinal, record) \
             VALUES (?1, ?2, ?3, ?4, ?1, ?5)",
            params![
                number,
                session.id.to_bytes(),
                session.space.as_str(),
                session.name.key(),
                encode_session(&session)
            ],
        )?;
        Ok(())
    }

    /// Replaces each unreadable task with a record that says so.
    pub(super) fn restore_tasks(
        &self,
        from: &Connection,
        losses: &mut Losses,
    ) -> Result<(), SqliteError> {
        let mut traces = self.traces(from);
        let mut sessions: HashSet<i64> = traces.values().map(|trace| trace.session).collect();
        collect(&self.connection, "SELECT DISTINCT session FROM tasks", |row| {
            sessions.insert(row.get(0)?);
            Ok(())
        });
        for number in sessions {
            self.make_session(number, SessionTrace::default())?;
        }
        let mut image = StoreImage::default();
        load_sessions(&self.connection, &mut image)?;
        let mut unreadable = Vec::new();
        {
            let mut select = self
                .connection
                .prepare(&format!("SELECT {TASK}, tasks.session, tasks.owner FROM tasks"))?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                let ordinal: i64 = row.get(0)?;
                match record::task(row, &image) {
                    Ok(_) => drop(traces.remove(&ordinal)),
                    Err(_) => unreadable.push(ordinal),
                }
            }
        }
        for ordinal in &unreadable {
            self.connection.execute("DELETE FROM tasks WHERE ordinal = ?1", [ordinal])?;
        }
        let ids: HashMap<i64, TaskId> =
            traces.values().map(|trace| (trace.ordinal, trace.id)).collect();
        let mut traces: Vec<TaskTrace> = traces.into_values().collect();
        traces.sort_by_key(|trace| trace.ordinal);
        let mut restored = HashSet::new();
        for trace in traces {
            let task = self.replacement(&trace, &image, &ids)?;
            let stored = self.connection.execute(
                "INSERT OR IGNORE INTO tasks \
                 (ordinal, id, session, owner, name, phase, since, spec, state, key) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    trace.ordinal,
                    task.id().to_bytes(),
                    trace.session,
                    trace.owner,
                    trace.name,
                    Phase::Lost as i64,
                    task.since.as_micros(),
                    encode_spec(&task.spec),
                    encode_state(&task),
                    trace.key,
                ],
            )?;
            if stored > 0 && restored.insert(trace.id) {
                losses.restored.push(trace.id);
            }
        }
        Ok(())
    }

    /// The data in the indexes of the damaged file about each task.
    fn traces(&self, from: &Connection) -> HashMap<i64, TaskTrace> {
        let session = self
            .connection
            .query_row("SELECT min(number) FROM sessions", [], |row| row.get::<_, Option<i64>>(0));
        let session = session.ok().flatten().unwrap_or(1);
        let mut traces = HashMap::new();
        for source in [from, &self.connection] {
            collect(source, "SELECT rowid, id FROM tasks INDEXED BY tasks_id", |row| {
                let (ordinal, bytes): (i64, [u8; 16]) = (row.get(0)?, row.get(1)?);
                if let Ok(id) = id(bytes, TaskId::from_bytes) {
                    traces.entry(ordinal).or_insert_with(|| TaskTrace {
                        ordinal,
                        id,
                        session,
                        owner: -session,
                        name: format!("lost-{ordinal}"),
                        key: None,
                    });
                }
                Ok(())
            });
            let names = "SELECT rowid, name, session, owner FROM tasks INDEXED BY tasks_name";
            collect(source, names, |row| {
                if let Some(trace) = traces.get_mut(&row.get(0)?) {
                    (trace.name, trace.session, trace.owner) =
                        (row.get(1)?, row.get(2)?, row.get(3)?);
                }
                Ok(())
            });
            let keys = "SELECT rowid, key FROM tasks INDEXED BY tasks_key WHERE key IS NOT NULL";
            collect(source, keys, |row| {
                if let Some(trace) = traces.get_mut(&row.get(0)?) {
                    trace.key = row.get(1)?;
                }
                Ok(())
            });
        }
        traces
    }

    fn replacement(
        &self,
        trace: &TaskTrace,
        image: &StoreImage,
        ids: &HashMap<i64, TaskId>,
    ) -> Result<Task, SqliteError> {
        let (session, space) = match image.numbered(trace.session)? {
            Some(known) => known,
            None => return Err(SqliteError::Broken(format!("session {} is gone", trace.session))),
        };
        let parent = match trace.owner > 0 {
            true => {
                let known = self.connection.query_row(
                    "SELECT id FROM tasks WHERE ordinal = ?1",
                    [trace.owner],
                    |row| row.get::<_, [u8; 16]>(0),
                );
                let known = known.ok().and_then(|bytes| id(bytes, TaskId::from_bytes).ok());
                known.or_else(|| ids.get(&trace.owner).copied())
            }
            false => None,
        };
        let mut spec = lost_spec(trace.id, &trace.name, session);
        spec.lineage.space = space;
        spec.lineage.parent = parent;
        spec.lineage.root = parent.unwrap_or(trace.id);
        spec.lineage.depth = u32::from(parent.is_some());
        spec.terms.key = trace.key.as_deref().map(Arc::from);
        lost_task(spec, now())
    }
}
