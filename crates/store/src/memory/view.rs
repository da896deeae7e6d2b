//! The lookups of the precondition checks, in the memory store.

use offshoot_core::{
    CapReached, CapUsage, InboxMessage, Owner, RowId, SessionId, SessionRecord, Spec, StepState,
    Task, TaskId,
};

use super::inbox::Inbox;
use super::state::MemoryState;
use crate::batch::{Counter, RowRef};
use crate::check::{SentMessage, StoreView};
use crate::error::Conflict;

impl<'state> StoreView for &'state MemoryState {
    type Error = Conflict;
    type StoredTask<'view>
        = &'state Task
    where
        Self: 'view;

    fn task(&mut self, id: TaskId) -> Result<Option<&'state Task>, Conflict> {
        Ok(self.index.task(id))
    }

    fn is_known(&mut self, id: TaskId) -> Result<bool, Conflict> {
        Ok(self.index.task(id).is_some())
    }

    fn is_stored(&mut self, _: TaskId) -> Result<bool, Conflict> {
        // Every stored task is known.
        Ok(false)
    }

    fn is_conflict(_: &Conflict) -> bool {
        true
    }

    fn live_children(&mut self, task: TaskId) -> u64 {
        self.index.live_children(task)
    }

    fn live_tasks(&mut self, session: SessionId) -> u64 {
        self.index.counts_within(Some(session)).live()
    }

    fn session(&mut self, id: SessionId) -> Option<&SessionRecord> {
        MemoryState::session(self, id)
    }

    fn session_named(&mut self, session: &SessionRecord) -> Option<SessionId> {
        MemoryState::session_named(self, &session.space, &session.name).map(|found| found.id)
    }

    fn keyed(&mut self, owner: Owner, key: &str) -> Result<Option<TaskId>, Conflict> {
        Ok(self.index.keyed(owner, key).map(Task::id))
    }

    fn live_namesake(&mut self, spec: &Spec) -> Option<TaskId> {
        self.index.live_namesake(spec).map(Task::id)
    }

    fn with_usage(
        &mut self,
        owner: Owner,
        session: SessionId,
        admit: impl FnOnce(CapUsage<'_>) -> Result<(), CapReached>,
    ) -> Result<(), CapReached> {
        admit(self.index.usage(owner, session))
    }

    fn is_step_committed(&mut self, task: TaskId, key: &str) -> Result<bool, Conflict> {
        Ok(matches!(self.step(task, key), Some(StepState::Committed(_))))
    }

    fn last_question(&mut self, task: TaskId) -> Result<u32, Conflict> {
        Ok(u32::try_from(self.questions(task).len()).unwrap_or(u32::MAX))
    }

    fn is_question_open(&mut self, task: TaskId, number: u32) -> Result<bool, Conflict> {
        let question = self.questions(task).get((number as usize).wrapping_sub(1));
        Ok(question.is_some_and(|question| question.closed.is_none()))
    }

    fn missing_row(&mut self, owner: Owner, rows: &[RowRef]) -> Result<Option<RowId>, Conflict> {
        let inbox = self.inboxes.get(&owner);
        let missing = rows.iter().find(|row| !inbox.is_some_and(|inbox| inbox.holds(row)));
        Ok(missing.map(|row| row.id))
    }

    fn message_with_key(
        &mut self,
        owner: Owner,
        message: &InboxMessage,
    ) -> Result<Option<SentMessage>, Conflict> {
        Ok(self.inboxes.get(&owner).and_then(|inbox| inbox.message_with_key(message)))
    }

    fn unread_messages(&mut self, owner: Owner) -> u64 {
        self.inboxes.get(&owner).map_or(0, Inbox::messages) as u64
    }

    fn counter(&mut self, counter: &Counter) -> Result<u64, Conflict> {
        Ok(MemoryState::counter(self, counter))
    }
}
