//! Reads from the file, for data that is not in the image.

mod events;
mod inbox;
mod list;
mod owner_data;
mod task;
mod threads;

use offshoot_core::{Owner, SessionId, Space};
use rusqlite::OptionalExtension;

pub(crate) use self::threads::{FileSnapshot, read_file, start_readers};
use crate::error::SqliteError;
use crate::record::{SessionLookup, blob, decode_session};

impl FileSnapshot<'_> {
    /// The numbers of an owner's session and of the owner itself in the table of tasks.
    fn owner_numbers(&self, owner: Owner) -> Result<Option<(i64, i64)>, SqliteError> {
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

    /// The session with this number in the snapshot. The image may be newer and no longer
    /// have it.
    fn numbered_then(&self, number: i64) -> Result<Option<(SessionId, Space)>, SqliteError> {
        let mut select =
            self.connection.prepare_cached("SELECT record FROM sessions WHERE number = ?1")?;
        let mut rows = select.query([number])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let session = decode_session(blob(row, 0)?)?;
        Ok(Some((session.id, session.space)))
    }

    fn session_number(&self, id: SessionId) -> Option<i64> {
        self.shared.image.read().entries.get(&id).map(|entry| entry.number)
    }
}

impl SessionLookup for FileSnapshot<'_> {
    fn numbered(&self, number: i64) -> Result<Option<(SessionId, Space)>, SqliteError> {
        let known = self.shared.image.read().numbered(number)?;
        known.map_or_else(|| self.numbered_then(number), |known| Ok(Some(known)))
    }
}

/// Converts a limit to a column value.
fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
