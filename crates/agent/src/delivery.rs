//! What comes home is put into the conversation, and acknowledged by the commit
//! that does it.

use offshoot_core::{Caller, DeliveryMode, Question, QuestionKind, RowBody, TaskId};
use offshoot_runtime::{Context, Error, InboxRow, InboxRows};

use crate::agent_loop::AgentLoop;
use crate::approval;
use crate::conversation::entry::{Entry, StoredOutput};
use crate::conversation::stored_output;
use crate::loop_exit::LoopExit;
use crate::notice::{self, Names, OWNER};

/// How many rows enter a conversation at once.
const MOST: usize = 64;

/// How many Unicode scalars of results enter it at once, if there are many.
const TOGETHER: usize = 64_000;

/// How many of each at least.
const LEAST: usize = 200;

/// DeliveryPoint mail is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryPoint {
    /// Between two steps: what is meant for the end of the turn stays.
    MidTurn,
    /// Between two turns.
    TurnEnd,
}

impl AgentLoop {
    /// Puts unread mail into the conversation, as much as may enter it at once;
    /// whether there was any. The rest is read before the next step.
    pub(crate) async fn deliver_inbox(&mut self, when: DeliveryPoint) -> Result<bool, LoopExit> {
        let mut after = 0;
        // It was there before anything was said to this task.
        let mut room = self.deliver_session_rows(TOGETHER).await?;
        while room > 0 {
            let rows = self.cx.drain_after(after, MOST).await?;
            let Some(last) = rows.last_number() else { break };
            let full = rows.len() == MOST;
            room = self.append_rows(rows.only(|row| is_due(row, when)), room).await?;
            if !full {
                break;
            }
            after = last;
        }
        Ok(room < TOGETHER)
    }

    /// Puts in what the session has for the agent; how much room there is left.
    /// What was looked at once is passed over: a session may have any number of
    /// rows for others.
    async fn deliver_session_rows(&mut self, mut room: usize) -> Result<usize, LoopExit> {
        while room > 0 {
            let rows = self.cx.drain_session(self.looked, MOST).await?;
            let Some(last) = rows.last_number() else { break };
            room = self.append_rows(rows, room).await?;
            // Without room some of them may be left.
            if room > 0 {
                self.looked = last;
            }
        }
        Ok(room)
    }

    /// Puts rows into the conversation until there is no room any more; how much
    /// there is left.
    async fn append_rows(&mut self, rows: InboxRows, mut room: usize) -> Result<usize, LoopExit> {
        // Of many each is shorter.
        let share = (TOGETHER / rows.len().max(1)).max(LEAST);
        let allowance = self.shared.limits.allowance.min(share);
        let mut entries = Vec::with_capacity(rows.len());
        let mut taken = 0;
        for row in rows.iter() {
            if room == 0 {
                break;
            }
            let place = self.conversation.blocks() + entries.len() as u64;
            let (names, kept) = self.names(row, allowance, place).await?;
            entries.extend(kept.map(Entry::Output));
            let entry = notice::entry(row, allowance, &names);
            room = room.saturating_sub(entry.length());
            entries.push(entry);
            taken += 1;
        }
        if taken > 0 {
            self.write(entries, Some(&rows.first(taken)), &[]).await?;
        }
        Ok(room)
    }

    /// What a row leaves to be looked up.
    /// What a task says at too great length is kept at this place, to be read on.
    async fn names<'a>(
        &'a self,
        row: InboxRow<'_>,
        allowance: usize,
        place: u64,
    ) -> Result<(Names<'a>, Option<StoredOutput>), LoopExit> {
        let mut names = Names {
            dialect: Some(self.shared.dialects.get(&self.brief.dialect)),
            ..Names::default()
        };
        let mut long = None;
        match row.body() {
            RowBody::Message(message) => {
                if let Caller::Task(from) = message.from {
                    names.sender = Some(self.name_of(from).await?);
                    long = Some(&message.text);
                }
            }
            RowBody::Returned(message) if matches!(message.from, Caller::Task(_)) => {
                long = Some(&message.text);
            }
            // It is said to the agent, as a whole.
            RowBody::Returned(_) => {}
            RowBody::Question { number, .. } => {
                if let Some(task) = row.task() {
                    names.asked = question(&self.cx, task.id(), *number).await?;
                    names.request = self.request((task.handle(), names.asked.as_ref()), allowance);
                }
            }
            RowBody::Result(_) => {}
        }
        let kept = long.and_then(|long| {
            let mut shown = long.to_string();
            let kept = stored_output::shorten(&mut shown, allowance, (self.cx.id(), place))?;
            names.shown = Some(shown);
            Some(kept)
        });
        Ok((names, kept))
    }

    /// The text of a question of one of the agent's tasks, if it is an approval request.
    pub(crate) fn request(
        &self,
        (handle, asked): (&str, Option<&Question>),
        longest: usize,
    ) -> Option<String> {
        let asked = asked.filter(|asked| asked.wants == QuestionKind::Approval)?;
        Some(approval::request_text((handle, asked), self.brief.authority.as_deref(), longest))
    }

    /// What the agent calls a task that speaks to it.
    async fn name_of(&self, task: TaskId) -> Result<String, LoopExit> {
        if self.cx.lineage().parent == Some(task) {
            return Ok(OWNER.to_owned());
        }
        match self.cx.task(&task.to_string()).await {
            Ok(found) => Ok(found.handle().to_owned()),
            // It was removed meanwhile, or is out of sight.
            Err(Error::NotFound { .. } | Error::Forbidden(_)) => Ok(task.to_string()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What a task of the agent's asks under this number.
pub(crate) async fn question(
    cx: &Context,
    task: TaskId,
    number: u32,
) -> Result<Option<Question>, Error> {
    let questions = match cx.task(&task.to_string()).await {
        Ok(task) => task.questions().await?,
        Err(Error::NotFound { .. } | Error::Forbidden(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(questions.into_iter().find(|question| question.number == number))
}

/// Resolves when somebody wants the agent's attention at once.
pub(crate) async fn interrupted(cx: &Context) {
    until(cx, |row| mode(row) == Some(DeliveryMode::Interrupt)).await;
}

/// Resolves when there is a message that is not meant for the end of the turn.
pub(crate) async fn steered(cx: &Context) {
    until(cx, |row| mode(row).is_some_and(|mode| mode != DeliveryMode::FollowUp)).await;
}

/// Resolves when there is a message of any mode, or a question.
pub(crate) async fn wanted(cx: &Context) {
    until(cx, |row| matches!(row.body(), RowBody::Message(_) | RowBody::Question { .. })).await;
}

/// Resolves when there is something that is read before the next step.
pub(crate) async fn due_now(cx: &Context) {
    until(cx, |row| is_due(row, DeliveryPoint::MidTurn)).await;
}

/// Whether there is.
pub(crate) async fn is_due_now(cx: &Context) -> Result<bool, Error> {
    is_there(cx, |row| is_due(row, DeliveryPoint::MidTurn)).await
}

fn mode(row: InboxRow<'_>) -> Option<DeliveryMode> {
    row.message().map(|said| said.mode)
}

/// Resolves when there is such a row. A look that fails is repeated when there
/// is something new: whoever waits has other reasons to end, too.
async fn until(cx: &Context, wanted: impl Fn(InboxRow<'_>) -> bool) {
    loop {
        let news = cx.news();
        // In a box, so that it takes no room between two looks.
        if let Ok(true) = Box::pin(is_there(cx, &wanted)).await {
            return;
        }
        news.await;
    }
}

/// Whether there is such a row. All rows are looked at: those that
/// an owner left behind keep their numbers, so a new one may stand before others.
async fn is_there(cx: &Context, wanted: impl Fn(InboxRow<'_>) -> bool) -> Result<bool, Error> {
    let mut after = 0;
    loop {
        let rows = cx.drain_after(after, MOST).await?;
        if rows.iter().any(&wanted) {
            return Ok(true);
        }
        match rows.last_number() {
            Some(last) if rows.len() == MOST => after = last,
            _ => return Ok(false),
        }
    }
}

fn is_due(row: InboxRow<'_>, when: DeliveryPoint) -> bool {
    when == DeliveryPoint::TurnEnd
        || row.message().is_none_or(|said| said.mode != DeliveryMode::FollowUp)
}
