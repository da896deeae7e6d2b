//! Delivery: inbox rows enter the conversation, and the same commit acknowledges them.

use offshoot_core::{Caller, Question, QuestionKind, RowBody, TaskId};
use offshoot_runtime::{Error, InboxRow, InboxRows};

use crate::agent_loop::AgentLoop;
use crate::agent_loop::row_entry::{RowDetails, row_entry};
use crate::approval;
use crate::conversation::entry::{Entry, StoredOutput};
use crate::conversation::stored_output;
use crate::delivery::{DeliveryPoint, is_due, question};
use crate::loop_exit::LoopExit;
use crate::notice::OWNER;

/// The most rows that enter a conversation at once.
const BATCH: usize = 64;

/// The most Unicode scalars of results that enter it at once.
const TOGETHER: usize = 64_000;

/// The least share of each row, in Unicode scalars.
const LEAST: usize = 200;

impl AgentLoop {
    /// Delivers unread rows into the conversation, as many as fit at once. Returns
    /// whether there were any. The rest follow before the next step.
    pub(super) async fn deliver_inbox(&mut self, point: DeliveryPoint) -> Result<bool, LoopExit> {
        let mut after = 0;
        // The session's rows are older than the task's own.
        let mut room = self.deliver_session_rows(TOGETHER).await?;
        while room > 0 {
            let rows = self.cx.drain_after(after, BATCH).await?;
            let Some(last) = rows.last_number() else { break };
            let full = rows.len() == BATCH;
            room = self.append_rows(rows.only(|row| is_due(row, point)), room).await?;
            if !full {
                break;
            }
            after = last;
        }
        Ok(room < TOGETHER)
    }

    /// Delivers the session's rows for this agent. Returns the room that is left.
    ///
    /// The agent remembers how far it has read: a session may hold many rows for
    /// others.
    async fn deliver_session_rows(&mut self, mut room: usize) -> Result<usize, LoopExit> {
        while room > 0 {
            let rows = self.cx.drain_session(self.session_row, BATCH).await?;
            let Some(last) = rows.last_number() else { break };
            room = self.append_rows(rows, room).await?;
            // Without room some of the rows may be left.
            if room > 0 {
                self.session_row = last;
            }
        }
        Ok(room)
    }

    /// Appends rows to the conversation until the room is used up. Returns the room
    /// that is left.
    async fn append_rows(&mut self, rows: InboxRows, mut room: usize) -> Result<usize, LoopExit> {
        // Many rows share the room.
        let share = (TOGETHER / rows.len().max(1)).max(LEAST);
        let allowance = self.shared.limits.allowance.min(share);
        let mut entries = Vec::with_capacity(rows.len());
        let mut taken = 0;
        for row in rows.iter() {
            if room == 0 {
                break;
            }
            let position = self.conversation.blocks() + entries.len() as u64;
            let (details, stored) = self.row_details(row, allowance, position).await?;
            entries.extend(stored.map(Entry::Output));
            let entry = row_entry(row, allowance, &details);
            room = room.saturating_sub(entry.length());
            entries.push(entry);
            taken += 1;
        }
        if taken > 0 {
            self.commit(entries, Some(&rows.first(taken)), &[]).await?;
        }
        Ok(room)
    }

    /// Looks up what a row refers to. The full text of a long message from a task
    /// is stored at this position, to be read on.
    async fn row_details<'a>(
        &'a self,
        row: InboxRow<'_>,
        allowance: usize,
        position: u64,
    ) -> Result<(RowDetails<'a>, Option<StoredOutput>), LoopExit> {
        let mut details = RowDetails {
            dialect: Some(self.shared.dialects.get(&self.brief.dialect)),
            ..RowDetails::default()
        };
        let mut long = None;
        match row.body() {
            RowBody::Message(message) => {
                if let Caller::Task(from) = message.from {
                    details.sender = Some(self.sender_name(from).await?);
                    long = Some(&message.text);
                }
            }
            RowBody::Returned(message) if matches!(message.from, Caller::Task(_)) => {
                long = Some(&message.text);
            }
            // A user's message enters whole.
            RowBody::Returned(_) => {}
            RowBody::Question { number, .. } => {
                if let Some(task) = row.task() {
                    details.question = question(&self.cx, task.id(), *number).await?;
                    let asked = (task.handle(), details.question.as_ref());
                    details.request = self.approval_request(asked, allowance);
                }
            }
            RowBody::Result(_) => {
                details.digest = row.task().map(|task| self.cx.digest(task, allowance));
            }
        }
        let stored = long.and_then(|long| {
            let mut shown = long.to_string();
            let stored = stored_output::shorten(&mut shown, allowance, (self.cx.id(), position))?;
            details.shown = Some(shown);
            Some(stored)
        });
        Ok((details, stored))
    }

    /// The text of a child's question, if it is an approval request.
    pub(super) fn approval_request(
        &self,
        (handle, question): (&str, Option<&Question>),
        longest: usize,
    ) -> Option<String> {
        let question = question.filter(|asked| asked.wants == QuestionKind::Approval)?;
        Some(approval::request_text((handle, question), self.brief.authority.as_deref(), longest))
    }

    /// The name by which the agent knows the sender of a message.
    async fn sender_name(&self, task: TaskId) -> Result<String, LoopExit> {
        if self.cx.lineage().parent == Some(task) {
            return Ok(OWNER.to_owned());
        }
        match self.cx.task(&task.to_string()).await {
            Ok(found) => Ok(found.handle().to_owned()),
            // The task was removed in the meantime, or is out of scope.
            Err(Error::NotFound { .. } | Error::Forbidden(_)) => Ok(task.to_string()),
            Err(error) => Err(error.into()),
        }
    }
}
