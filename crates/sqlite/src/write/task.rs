//! Tasks and sessions, written.

use offshoot_core::{Change, Owner, Phase, Session, Stamp, Task};

use super::Writing;
use super::ahead::Kin;
use crate::codec::{Damaged, encode_spec, encode_state};
use crate::error::Fault;
use crate::image::Op;
use crate::record::{column, decode_totals, encode_session};

/// The largest spec that stays in its task's row.
const SPEC_IN_ROW: usize = 1 << 10;

impl Writing<'_, '_> {
    pub(super) fn spawn(&mut self, task: &Task, at: Stamp) -> Result<(), Fault> {
        let spec = &task.spec;
        let (owner, session) = (task.owner(), spec.lineage.session);
        let change = match task.state.phase() {
            Phase::Queued => Change::Spawned,
            _ => Change::SpawnedRunning,
        };
        let missing = Damaged::Strange("a new task without an owner");
        let session_number = self.session_number(session).ok_or(missing.clone())?;
        let owner_number = self.owner_number(owner)?.ok_or(missing)?;
        let ordinal = self.ahead.tick();
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
        let kin = self.kin(task)?;
        self.ahead.count_in(self.image, kin, task.state.phase());
        self.ahead.spawn(task, ordinal);
        self.ahead.record(session, Some(spec.id), at, change);
        Ok(())
    }

    /// Writes a task's next record and, if it tells its owner of its end, the
    /// number of the row that does.
    pub(super) fn put(
        &mut self,
        task: &Task,
        at: Stamp,
        change: &Change,
        told: Option<u64>,
    ) -> Result<(), Fault> {
        let (before, ordinal) =
            self.found(task.id())?.ok_or(Damaged::Strange("a change of a task that is gone"))?;
        let phase = task.state.phase();
        let (since, state) = (task.since.as_micros(), encode_state(task));
        match told.map(column) {
            Some(told) => self.sql.put.execute((ordinal, phase as i64, since, state, told))?,
            None => self.sql.put_quietly.execute((ordinal, phase as i64, since, state))?,
        };
        let kin = self.kin(task)?;
        self.ahead.count_shift(self.image, kin, before.state.phase(), phase);
        self.ahead.put(task, ordinal);
        self.ahead.record(kin.session, Some(task.id()), at, change.clone());
        Ok(())
    }

    /// Whom a task counts for. An owner that has ended may have left memory;
    /// then what it counts is read.
    pub(super) fn kin(&mut self, task: &Task) -> Result<Kin, Fault> {
        let (owner, session) = (task.owner(), task.spec.lineage.session);
        let known = Kin { owner: Some(owner), session };
        let Owner::Task(id) = owner else { return Ok(known) };
        let here = self.ahead.tasks.contains_key(&id) || self.image.directory.task(id).is_some();
        if here || self.ahead.has_counts(owner) {
            return Ok(known);
        }
        let mut rows = self.sql.owned.query([id.to_bytes()])?;
        let Some(row) = rows.next()? else { return Ok(Kin { owner: None, session }) };
        if let Some(totals) = row.get::<_, Option<Vec<u8>>>(0)? {
            let [counts] = decode_totals(&totals)?;
            self.ahead.remember_counts(owner, counts);
        }
        Ok(known)
    }

    pub(super) fn open_session(&mut self, session: &Session, at: Stamp) -> Result<(), Fault> {
        let ordinal = self.ahead.tick();
        // No session has had it: what refers to one that was removed finds
        // nobody, even in a moment of the file that is past.
        let number = column(ordinal);
        self.sql.open_session.execute((
            number,
            session.id.to_bytes(),
            session.space.as_str(),
            session.name.key(),
            column(ordinal),
            encode_session(session),
        ))?;
        self.ahead.open(session, number, ordinal);
        self.ahead.record(session.id, None, at, Change::SessionOpened);
        Ok(())
    }

    pub(super) fn put_session(
        &mut self,
        session: &Session,
        at: Stamp,
        change: &Change,
    ) -> Result<(), Fault> {
        let number = self
            .session_number(session.id)
            .ok_or(Damaged::Strange("a change of a session that is gone"))?;
        self.sql.put_session.execute((number, encode_session(session)))?;
        self.ahead.sessions.insert(session.id, (session.clone(), number));
        self.ahead.ops.push(Op::PutSession(session.clone()));
        self.ahead.record(session.id, None, at, change.clone());
        Ok(())
    }
}
