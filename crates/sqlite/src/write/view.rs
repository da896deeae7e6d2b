//! The lookups of the precondition checks, in a write transaction.

use offshoot_core::{
    CapReached, CapUsage, InboxMessage, MessageFingerprint, MessageId, Owner, RowId, SessionId,
    SessionRecord, Spec, Task, TaskId,
};
use offshoot_store::{Counter, RowRef, SentMessage, StoreView};
use rusqlite::OptionalExtension;

use super::overlay::CountScope;
use super::{IdCheck, WriteTransaction};
use crate::codec::id;
use crate::error::BatchError;
use crate::record::{column, owner_key, sender_key};

impl StoreView for WriteTransaction<'_, '_> {
    type Error = BatchError;
    type StoredTask<'view>
        = Task
    where
        Self: 'view;

    fn task(&mut self, id: TaskId) -> Result<Option<Task>, BatchError> {
        Ok(self.task_of(id)?)
    }

    fn is_known(&mut self, id: TaskId) -> Result<bool, BatchError> {
        let known = self.overlay.tasks.contains_key(&id) || self.image.index.task(id).is_some();
        Ok(known || self.id_check == IdCheck::Lookup && self.is_stored(id)?)
    }

    fn is_stored(&mut self, id: TaskId) -> Result<bool, BatchError> {
        Ok(self.sql.task_exists.exists([id.to_bytes()])?)
    }

    fn is_conflict(error: &BatchError) -> bool {
        matches!(error, BatchError::Conflict(_))
    }

    fn live_children(&mut self, task: TaskId) -> u64 {
        self.overlay.counts(self.image, CountScope::Owner(Owner::Task(task))).live()
    }

    fn live_tasks(&mut self, session: SessionId) -> u64 {
        self.overlay.counts(self.image, CountScope::Session(session)).live()
    }

    fn session(&mut self, id: SessionId) -> Option<&SessionRecord> {
        let changed = self.overlay.sessions.get(&id).map(|(session, _)| session);
        changed.or_else(|| self.image.session(id))
    }

    fn session_named(&mut self, session: &SessionRecord) -> Option<SessionId> {
        self.overlay.session_named(session).or_else(|| {
            self.image.session_named(&session.space, &session.name).map(|found| found.id)
        })
    }

    fn keyed(&mut self, owner: Owner, key: &str) -> Result<Option<TaskId>, BatchError> {
        let Some(owner) = self.owner_number(owner)? else { return Ok(None) };
        let found = self.sql.keyed.query_row((owner, key), |row| row.get::<_, [u8; 16]>(0));
        Ok(found.optional()?.map(|found| id(found, TaskId::from_bytes)).transpose()?)
    }

    fn live_namesake(&mut self, spec: &Spec) -> Option<TaskId> {
        self.overlay.live_named(self.image, spec.owner(), spec.handle.key())
    }

    fn with_usage(
        &mut self,
        owner: Owner,
        session: SessionId,
        admit: impl FnOnce(CapUsage<'_>) -> Result<(), CapReached>,
    ) -> Result<(), CapReached> {
        admit(CapUsage {
            owner: &self.overlay.counts(self.image, CountScope::Owner(owner)),
            session: &self.overlay.counts(self.image, CountScope::Session(session)),
            space: &self.overlay.counts(self.image, CountScope::Everything),
        })
    }

    fn is_step_committed(&mut self, task: TaskId, key: &str) -> Result<bool, BatchError> {
        let committed = self.sql.step.query_row((task.to_bytes(), key), |row| row.get(0));
        Ok(committed.optional()? == Some(true))
    }

    fn last_question(&mut self, task: TaskId) -> Result<u32, BatchError> {
        let last = self.sql.last_question.query_row([task.to_bytes()], |row| row.get(0));
        Ok(last.map(|last: Option<u32>| last.unwrap_or(0))?)
    }

    fn is_question_open(&mut self, task: TaskId, number: u32) -> Result<bool, BatchError> {
        let open = self.sql.question_open.query_row((task.to_bytes(), number), |row| row.get(0));
        Ok(open.optional()? == Some(true))
    }

    fn missing_row(&mut self, owner: Owner, rows: &[RowRef]) -> Result<Option<RowId>, BatchError> {
        let owner = owner_key(owner);
        for row in rows {
            let key = (owner, column(row.number));
            let found = self.sql.row.query_row(key, |found| found.get::<_, [u8; 16]>(0));
            if found.optional()? != Some(row.id.to_bytes()) {
                return Ok(Some(row.id));
            }
        }
        Ok(None)
    }

    fn message_with_key(
        &mut self,
        owner: Owner,
        message: &InboxMessage,
    ) -> Result<Option<SentMessage>, BatchError> {
        let Some(key) = &message.key else { return Ok(None) };
        let key = (owner_key(owner), sender_key(message.from), &**key);
        let found = self.sql.message_key.query_row(key, |row| {
            Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, Option<[u8; 16]>>(1)?))
        });
        let Some((message, fingerprint)) = found.optional()? else { return Ok(None) };
        let message = id(message, MessageId::from_bytes)?;
        let fingerprint = fingerprint.map(MessageFingerprint::from_bytes);
        Ok(Some(SentMessage { message, fingerprint }))
    }

    fn unread_messages(&mut self, owner: Owner) -> u64 {
        self.unread_counts(owner).messages
    }

    fn counter(&mut self, counter: &Counter) -> Result<u64, BatchError> {
        Ok(self.stored_counter(counter)?)
    }
}
