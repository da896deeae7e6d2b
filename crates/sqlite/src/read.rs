//! What is read from the file: all that the image does not hold.

mod events;
mod inbox;
mod list;
mod notes;
mod task;

use offshoot_core::{Owner, SessionId, Space};
use rusqlite::OptionalExtension;

use crate::error::Fault;
use crate::reader::Reading;
use crate::record::{Sessions, blob, decode_session};

impl Reading<'_> {
    /// What stands for an owner's session and for itself in the table of
    /// tasks.
    fn owner_numbers(&self, owner: Owner) -> Result<Option<(i64, i64)>, Fault> {
        match owner {
            Owner::Session(id) => Ok(self.session_number(id).map(|number| (number, -number))),
            Owner::Task(id) => {
                let sql = "SELECT session, ordinal FROM tasks WHERE id = ?1";
                let mut select = self.connection.prepare_cached(sql)?;
                let numbers = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
                Ok(select.query_row([id.to_bytes()], numbers).optional()?)
            }
        }
    }

    /// The session that had this number at the moment of this reading: the
    /// image, which may be ahead of it, has none any more.
    fn numbered_then(&self, number: i64) -> Result<Option<(SessionId, Space)>, Fault> {
        let mut select =
            self.connection.prepare_cached("SELECT record FROM sessions WHERE number = ?1")?;
        let mut rows = select.query([number])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let session = decode_session(blob(row, 0)?)?;
        Ok(Some((session.id, session.space)))
    }

    fn session_number(&self, id: SessionId) -> Option<i64> {
        self.shared.image.read().desks.get(&id).map(|desk| desk.number)
    }
}

impl Sessions for Reading<'_> {
    fn numbered(&self, number: i64) -> Result<Option<(SessionId, Space)>, Fault> {
        let known = self.shared.image.read().numbered(number)?;
        known.map_or_else(|| self.numbered_then(number), |known| Ok(Some(known)))
    }
}

/// A count of rows as SQLite takes it.
fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
