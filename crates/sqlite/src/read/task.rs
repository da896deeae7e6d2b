//! Reads of single tasks.

use offshoot_core::{Owner, Task, TaskCounts, TaskId};
use rusqlite::Params;

use crate::codec::DecodeError;
use crate::error::SqliteError;
use crate::read::FileSnapshot;
use crate::record::{self, TASK, decode_totals};

impl FileSnapshot<'_> {
    pub(crate) fn task(&self, id: TaskId) -> Result<Option<Task>, SqliteError> {
        self.one_task("id = ?1", [id.to_bytes()])
    }

    pub(crate) fn named(&self, owner: Owner, key: &str) -> Result<Option<Task>, SqliteError> {
        let Some((session, owner)) = self.owner_numbers(owner)? else { return Ok(None) };
        self.one_task(
            "name = ?1 AND session = ?2 AND owner = ?3 ORDER BY ordinal DESC LIMIT 1",
            (key, session, owner),
        )
    }

    pub(crate) fn keyed(&self, owner: Owner, key: &str) -> Result<Option<Task>, SqliteError> {
        let Some((_, owner)) = self.owner_numbers(owner)? else { return Ok(None) };
        self.one_task("owner = ?1 AND key = ?2", (owner, key))
    }

    /// The counts of the tasks that a task owns.
    pub(crate) fn owned(&self, task: TaskId) -> Result<TaskCounts, SqliteError> {
        let mut select =
            self.connection.prepare_cached("SELECT totals FROM tasks WHERE id = ?1")?;
        let mut rows = select.query([task.to_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(TaskCounts::default()) };
        let totals = row.get_ref(0)?.as_blob_or_null();
        match totals.map_err(|_| DecodeError::Strange("totals that are not bytes"))? {
            None => Ok(TaskCounts::default()),
            Some(bytes) => {
                let [counts] = decode_totals(bytes)?;
                Ok(counts)
            }
        }
    }

    fn one_task(&self, which: &str, params: impl Params) -> Result<Option<Task>, SqliteError> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE {which}");
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query(params)?;
        match rows.next()? {
            None => Ok(None),
            Some(row) => record::task(row, self).map(|(_, task)| Some(task)),
        }
    }
}
