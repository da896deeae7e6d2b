//! Reads of the log.

use offshoot_core::{Cursor, Event, SessionId};
use offshoot_store::{CursorExpired, EventPage};

use crate::codec::{DecodeError, decode_chunk};
use crate::error::SqliteError;
use crate::image::{ImageSession, StoreImage};
use crate::read::FileSnapshot;
use crate::record::{SessionLookup, blob, column};

impl StoreImage {
    /// The events after a cursor; `None` if some of them are not in memory.
    pub(crate) fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Option<Result<EventPage, CursorExpired>> {
        if let Some(expired) = self.expired(session, after) {
            return Some(Err(expired));
        }
        let mut events = Vec::new();
        for entry in self.entries_of(session) {
            if !entry.recent.covers(after) {
                return None;
            }
            events.extend(entry.recent.since(after).take(limit).cloned());
        }
        if session.is_none() {
            events.sort_by_key(|event| event.cursor);
            events.truncate(limit);
        }
        Some(Ok(page(events, after)))
    }

    fn expired(&self, session: Option<SessionId>, after: Cursor) -> Option<CursorExpired> {
        // The session that deleted the most recent event decides.
        let forgotten = self.entries_of(session).map(|entry| entry.last_deleted).max()?;
        (after.number() < forgotten).then(|| CursorExpired { oldest: Cursor::new(forgotten) })
    }

    fn entries_of(&self, session: Option<SessionId>) -> impl Iterator<Item = &ImageSession> {
        let one = session.and_then(|session| self.entries.get(&session));
        let all = self.entries.values().filter(move |_| session.is_none());
        one.into_iter().chain(all)
    }
}

impl FileSnapshot<'_> {
    pub(crate) fn events(
        &self,
        session: Option<SessionId>,
        after: Cursor,
        limit: usize,
    ) -> Result<Result<EventPage, CursorExpired>, SqliteError> {
        if let Some(expired) = self.shared.image.read().expired(session, after) {
            return Ok(Err(expired));
        }
        let number = match session {
            None => None,
            Some(session) => match self.session_number(session) {
                Some(number) => Some(number),
                None => return Ok(Ok(page(Vec::new(), after))),
            },
        };
        let sql = match number {
            Some(_) => {
                "SELECT session, last, span, chunk FROM log \
                 WHERE session = ?2 AND last > ?1 ORDER BY last"
            }
            None => {
                "SELECT session, last, span, chunk FROM log \
                 WHERE last > ?1 AND ?2 IS NULL ORDER BY last"
            }
        };
        let mut select = self.connection.prepare_cached(sql)?;
        let mut rows = select.query((column(after.number()), number))?;
        let mut events: Vec<Event> = Vec::new();
        while let Some(row) = rows.next()? {
            let (last, span): (i64, i64) = (row.get(1)?, row.get(2)?);
            let base = (last as u64).wrapping_sub(span as u64);
            // Chunks of one transaction can overlap, those of later transactions cannot.
            if events.len() >= limit && events.iter().all(|event| event.cursor.number() <= base) {
                break;
            }
            let (session, _) = self
                .numbered(row.get(0)?)?
                .ok_or(DecodeError::Strange("events of a session that is not there"))?;
            let chunk = decode_chunk(blob(row, 3)?, base, session)?;
            events.extend(chunk.into_iter().filter(|event| event.cursor > after));
        }
        events.sort_by_key(|event| event.cursor);
        events.truncate(limit);
        Ok(Ok(page(events, after)))
    }
}

fn page(events: Vec<Event>, after: Cursor) -> EventPage {
    let next = events.last().map_or(after, |event| event.cursor);
    EventPage { events, next }
}
