//! Reads of histories, steps, questions, timers and counters.

use offshoot_core::{Owner, Question, Stamp, StepState, TaskId, Timer};
use offshoot_store::{Counter, HistoryPage};
use rusqlite::OptionalExtension;

use super::at_most;
use crate::codec::{DecodeError, Decoder, decode_block, decode_value};
use crate::error::SqliteError;
use crate::read::FileSnapshot;
use crate::record::{blob, column, owner_key, text};

impl FileSnapshot<'_> {
    pub(crate) fn history(
        &self,
        owner: Owner,
        first: u64,
        limit: usize,
    ) -> Result<HistoryPage, SqliteError> {
        let owner = owner_key(owner);
        let mut last =
            self.connection.prepare_cached("SELECT max(position) FROM blocks WHERE owner = ?1")?;
        let last: Option<i64> = last.query_row([owner], |row| row.get(0))?;
        let total = last.map_or(0, |last| last as u64 + 1);
        let first = first.min(total);
        let mut select = self.connection.prepare_cached(
            "SELECT block FROM blocks WHERE owner = ?1 AND position >= ?2 \
             ORDER BY position LIMIT ?3",
        )?;
        let mut rows = select.query((owner, column(first), at_most(limit)))?;
        let mut blocks = Vec::new();
        while let Some(row) = rows.next()? {
            blocks.push(decode_block(blob(row, 0)?)?);
        }
        Ok(HistoryPage { blocks, first, total })
    }

    pub(crate) fn step(&self, task: TaskId, key: &str) -> Result<Option<StepState>, SqliteError> {
        let mut select = self
            .connection
            .prepare_cached("SELECT value FROM steps WHERE task = ?1 AND key = ?2")?;
        let mut rows = select.query((task.to_bytes(), key))?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let value = row.get_ref(0)?.as_blob_or_null();
        Ok(Some(match value.map_err(|_| DecodeError::Strange("a step that is not bytes"))? {
            None => StepState::Started,
            Some(value) => StepState::Committed(decode_value(value)?),
        }))
    }

    pub(crate) fn questions(&self, task: TaskId) -> Result<Vec<Question>, SqliteError> {
        let mut select = self.connection.prepare_cached(
            "SELECT question, closed FROM questions WHERE task = ?1 ORDER BY number",
        )?;
        let mut rows = select.query([task.to_bytes()])?;
        let mut questions = Vec::new();
        while let Some(row) = rows.next()? {
            let mut question: Question = Decoder::new(blob(row, 0)?)?.json()?;
            let closed = row.get_ref(1)?.as_blob_or_null();
            if let Some(closed) =
                closed.map_err(|_| DecodeError::Strange("an end without bytes"))?
            {
                question.closed = Some(Decoder::new(closed)?.json()?);
            }
            questions.push(question);
        }
        Ok(questions)
    }

    pub(crate) fn timers(&self, task: TaskId) -> Result<Vec<Timer>, SqliteError> {
        let mut select = self
            .connection
            .prepare_cached("SELECT key, due FROM timers WHERE task = ?1 ORDER BY rowid")?;
        let mut rows = select.query([task.to_bytes()])?;
        let mut timers = Vec::new();
        while let Some(row) = rows.next()? {
            let due = Stamp::from_micros(row.get(1)?);
            timers.push(Timer { task, key: text(row, 0)?.into(), due });
        }
        Ok(timers)
    }

    pub(crate) fn counter(&self, counter: &Counter) -> Result<u64, SqliteError> {
        let mut select = self
            .connection
            .prepare_cached("SELECT value FROM counters WHERE owner = ?1 AND name = ?2")?;
        let key = (owner_key(counter.owner), &*counter.name);
        let value: Option<i64> = select.query_row(key, |row| row.get(0)).optional()?;
        Ok(value.unwrap_or(0) as u64)
    }
}
