//! Writes of tasks and sessions.

use offshoot_core::{Change, Owner, Phase, SessionRecord, Stamp, Task};

use super::WriteTransaction;
use super::overlay::CountTargets;
use crate::codec::{DecodeError, encode_spec, encode_state};
use crate::error::SqliteError;
use crate::image::ImageChange;
use crate::record::{column, decode_totals, encode_session};

/// The maximum size of a spec that is stored in its task's row.
const SPEC_IN_ROW: usize = 1 << 10;

impl WriteTransaction<'_, '_> {
    pub(super) fn spawn(&mut self, task: &Task, at: Stamp) -> Result<(), SqliteError> {
        let spec = &task.spec;
        let (owner, session) = (task.owner(), spec.lineage.session);
        let change = match task.state.phase() {
            Phase::Queued => Change::Spawned,
            _ => Change::SpawnedRunning,
        };
        let missing = DecodeError::Strange("a new task without an owner");
        let session_number = self.session_number(session).ok_or(missing.clone())?;
        let owner_number = self.owner_number(owner)?.ok_or(missing)?;
        let ordinal = self.overlay.tick();
        let encoded = encode_spec(spec);
        let (in_row, apart) = match encoded.len() <= SPEC_IN_ROW {
            true => (Some(&encoded), None),
            false => (None, Some(&encoded)),
        };
        self.sql.spawn.execute(rusqlite::params![
            column(ordinal),
            spec.id.to_bytes(),
            session_number,
            owner_number,
            spec.handle.key(),
            task.state.phase() as i64,
            task.since.as_micros(),
            in_row,
            encode_state(task),
            spec.terms.key.as_deref(),
        ])?;
        if let Some(apart) = apart {
            self.sql.put_spec.execute((column(ordinal), apart))?;
        }
        let count_targets = self.count_targets(task)?;
        self.overlay.count_in(self.image, count_targets, task.state.phase());
        self.overlay.spawn(task, ordinal);
        self.overlay.record(session, Some(spec.id), at, change);
        Ok(())
    }

    /// Writes a task's next record and, at its end, the number of its result row.
    pub(super) fn put(
        &mut self,
        task: &Task,
        at: Stamp,
        change: &Change,
        told: Option<u64>,
    ) -> Result<(), SqliteError> {
        let (before, ordinal) = self
            .found(task.id())?
            .ok_or(DecodeError::Strange("a change of a task that is gone"))?;
        let phase = task.state.phase();
        let (since, state) = (task.since.as_micros(), encode_state(task));
        match told.map(column) {
            Some(told) => self.sql.put.execute((ordinal, phase as i64, since, state, told))?,
            None => self.sql.put_quietly.execute((ordinal, phase as i64, since, state))?,
        };
        let count_targets = self.count_targets(task)?;
        self.overlay.count_shift(self.image, count_targets, before.state.phase(), phase);
        self.overlay.put(task, ordinal);
        self.overlay.record(count_targets.session, Some(task.id()), at, change.clone());
        Ok(())
    }

    /// The scopes in which a task is counted. If its owner has ended and left memory, the
    /// owner's counts are read.
    pub(super) fn count_targets(&mut self, task: &Task) -> Result<CountTargets, SqliteError> {
        let (owner, session) = (task.owner(), task.spec.lineage.session);
        let known = CountTargets { owner: Some(owner), session };
        let Owner::Task(id) = owner else { return Ok(known) };
        let here = self.overlay.tasks.contains_key(&id) || self.image.index.task(id).is_some();
        if here || self.overlay.has_counts(owner) {
            return Ok(known);
        }
        let mut rows = self.sql.owned.query([id.to_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(CountTargets { owner: None, session }) };
        if let Some(totals) = row.get::<_, Option<Vec<u8>>>(0)? {
            let [counts] = decode_totals(&totals)?;
            self.overlay.remember_counts(owner, counts);
        }
        Ok(known)
    }

    pub(super) fn open_session(
        &mut self,
        session: &SessionRecord,
        at: Stamp,
    ) -> Result<(), SqliteError> {
        let ordinal = self.overlay.tick();
        // Session numbers are never reused, so a reference to a removed session finds
        // nothing, even in an older snapshot.
        let number = column(ordinal);
        self.sql.open_session.execute((
            number,
            session.id.to_bytes(),
            session.space.as_str(),
            session.name.key(),
            column(ordinal),
            encode_session(session),
        ))?;
        self.overlay.open(session, number, ordinal);
        self.overlay.record(session.id, None, at, Change::SessionOpened);
        Ok(())
    }

    pub(super) fn put_session(
        &mut self,
        session: &SessionRecord,
        at: Stamp,
        change: &Change,
    ) -> Result<(), SqliteError> {
        let number = self
            .session_number(session.id)
            .ok_or(DecodeError::Strange("a change of a session that is gone"))?;
        self.sql.put_session.execute((number, encode_session(session)))?;
        self.overlay.sessions.insert(session.id, (session.clone(), number));
        self.overlay.image_changes.push(ImageChange::PutSession(session.clone()));
        self.overlay.record(session.id, None, at, change.clone());
        Ok(())
    }
}
