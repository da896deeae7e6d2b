//! Single tasks.

use offshoot_core::{Counts, Owner, Task, TaskId};
use rusqlite::Params;

use crate::codec::Damaged;
use crate::error::Fault;
use crate::reader::Reading;
use crate::record::{self, TASK, decode_totals};

impl Reading<'_> {
    pub(crate) fn task(&self, id: TaskId) -> Result<Option<Task>, Fault> {
        self.one_task("id = ?1", [id.to_bytes()])
    }

    pub(crate) fn named(&self, owner: Owner, key: &str) -> Result<Option<Task>, Fault> {
        let Some((session, owner)) = self.owner_numbers(owner)? else { return Ok(None) };
        self.one_task(
            "name = ?1 AND session = ?2 AND owner = ?3 ORDER BY ordinal DESC LIMIT 1",
            (key, session, owner),
        )
    }

    pub(crate) fn keyed(&self, owner: Owner, key: &str) -> Result<Option<Task>, Fault> {
        let Some((_, owner)) = self.owner_numbers(owner)? else { return Ok(None) };
        self.one_task("owner = ?1 AND key = ?2", (owner, key))
    }

    /// How many tasks a task owns.
    pub(crate) fn owned(&self, task: TaskId) -> Result<Counts, Fault> {
        let mut select =
            self.connection.prepare_cached("SELECT totals FROM tasks WHERE id = ?1")?;
        let mut rows = select.query([task.to_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(Counts::default()) };
        let totals = row.get_ref(0)?.as_blob_or_null();
        match totals.map_err(|_| Damaged::Strange("totals that are not bytes"))? {
            None => Ok(Counts::default()),
            Some(bytes) => {
                let [counts] = decode_totals(bytes)?;
                Ok(counts)
            }
        }
    }

    fn one_task(&self, which: &str, params: impl Params) -> Result<Option<Task>, Fault> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE {which}");
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query(params)?;
        match rows.next()? {
            None => Ok(None),
            Some(row) => record::task(row, self).map(|(_, task)| Some(task)),
        }
    }
}
