//! Writes of histories, steps, questions, timers and counters.

use offshoot_core::{
    Block, Change, Owner, Question, Resolution, Stamp, Step, StepState, TaskId, Timer,
};
use offshoot_store::{Counter, CounterChange};
use rusqlite::OptionalExtension;

use super::WriteTransaction;
use crate::codec::{Encoder, encode_block, encode_value};
use crate::error::SqliteError;
use crate::record::owner_key;

impl WriteTransaction<'_, '_> {
    pub(super) fn append(
        &mut self,
        owner: Owner,
        blocks: &[Block],
        at: Stamp,
    ) -> Result<(), SqliteError> {
        let key = owner_key(owner);
        let last = self.sql.history_length.query_row([key], |row| row.get(0));
        let last: Option<i64> = last?;
        let mut total = last.map_or(0, |last| last + 1);
        for block in blocks {
            self.sql.append.execute((key, total, encode_block(block)))?;
            total += 1;
        }
        self.record_of(owner, at, Change::HistoryGrew(total as u64))
    }

    pub(super) fn adopt(&mut self, from: Owner, to: Owner) -> Result<(), SqliteError> {
        if from == to {
            return Ok(());
        }
        self.sql.drop_history.execute([owner_key(to)])?;
        self.sql.adopt.execute((owner_key(from), owner_key(to)))?;
        Ok(())
    }

    pub(super) fn step(&mut self, step: &Step, at: Stamp) -> Result<(), SqliteError> {
        let task = step.task.to_bytes();
        match &step.state {
            StepState::Started => {
                self.sql.put_step.execute((task, &*step.key, rusqlite::types::Null))?;
                Ok(())
            }
            StepState::Committed(value) => {
                self.sql.put_step.execute((task, &*step.key, encode_value(value)))?;
                let change = Change::StepCommitted(step.key.clone());
                self.record_of(Owner::Task(step.task), at, change)
            }
        }
    }

    pub(super) fn ask(&mut self, question: &Question, at: Stamp) -> Result<(), SqliteError> {
        let (task, number) = (question.task, question.number);
        let mut asked = Encoder::new(128);
        asked.json(question);
        let closed = question.closed.as_ref().map(encode_closed);
        self.sql.ask.execute((task.to_bytes(), number, asked.finish(), closed))?;
        self.record_of(Owner::Task(task), at, Change::Asked(number))
    }

    pub(super) fn close_question(
        &mut self,
        (task, number): (TaskId, u32),
        closed: &Resolution,
        at: Stamp,
    ) -> Result<(), SqliteError> {
        self.sql.close_question.execute((task.to_bytes(), number, encode_closed(closed)))?;
        self.record_of(Owner::Task(task), at, Change::QuestionClosed(number))
    }

    pub(super) fn arm(&mut self, timer: &Timer) -> Result<(), SqliteError> {
        let due = timer.due.as_micros();
        self.sql.arm.execute((timer.task.to_bytes(), &*timer.key, due))?;
        Ok(())
    }

    pub(super) fn disarm(&mut self, task: TaskId, key: &str) -> Result<(), SqliteError> {
        self.sql.disarm.execute((task.to_bytes(), key))?;
        Ok(())
    }

    pub(super) fn stored_counter(&mut self, counter: &Counter) -> Result<u64, SqliteError> {
        let key = (owner_key(counter.owner), &*counter.name);
        let value = self.sql.counter.query_row(key, |row| row.get::<_, i64>(0));
        Ok(value.optional()?.unwrap_or(0) as u64)
    }

    pub(super) fn count(&mut self, count: &CounterChange) -> Result<(), SqliteError> {
        let value = self.stored_counter(&count.counter)?.saturating_add_signed(count.by);
        let owner = owner_key(count.counter.owner);
        self.sql.put_counter.execute((owner, &*count.counter.name, value as i64))?;
        Ok(())
    }
}

fn encode_closed(closed: &Resolution) -> Vec<u8> {
    let mut out = Encoder::new(64);
    out.json(closed);
    out.finish()
}
