//! What comes home is put into the conversation, and acknowledged by the commit
//! that does it.

use offshoot_core::{Caller, Mode, RowBody, TaskId};
use offshoot_runtime::{Arrival, Context, Error, Rows};

use crate::life::{Life, Trouble};
use crate::notice::{self, Names};

/// How many rows enter a conversation at once.
const MOST: usize = 64;

/// How many Unicode scalars of results enter it at once, if there are many.
const TOGETHER: usize = 64_000;

/// How many of each at least.
const LEAST: usize = 200;

/// When mail is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Between two steps: what is meant for the end of the turn stays.
    MidTurn,
    /// Between two turns.
    TurnEnd,
}

impl Life {
    /// Puts unread mail into the conversation; whether there was any.
    pub(crate) async fn read_mail(&mut self, when: When) -> Result<bool, Trouble> {
        let mut after = 0;
        let mut any = false;
        loop {
            let rows = self.cx.drain_after(after, MOST).await?;
            let Some(last) = rows.last_number() else { return Ok(any) };
            let full = rows.len() == MOST;
            let rows = rows.only(|row| is_due(row, when));
            any |= self.take_in(&rows).await?;
            if !full {
                return Ok(any);
            }
            after = last;
        }
    }

    async fn take_in(&mut self, rows: &Rows) -> Result<bool, Trouble> {
        if rows.is_empty() {
            return Ok(false);
        }
        // Many at once must not fill the conversation.
        let share = (TOGETHER / rows.len()).max(LEAST);
        let allowance = self.seat.limits.allowance.min(share);
        let mut entries = Vec::with_capacity(rows.len());
        for row in rows.iter() {
            let names = self.names(row).await?;
            entries.push(notice::entry(row, allowance, &names));
        }
        self.write(entries, Some(rows), &[]).await?;
        Ok(true)
    }

    /// What a row leaves to be looked up.
    async fn names(&self, row: Arrival<'_>) -> Result<Names, Trouble> {
        let mut names = Names::default();
        match row.body() {
            RowBody::Message(message) => {
                if let Caller::Task(from) = message.from {
                    names.sender = Some(self.name_of(from).await?);
                }
            }
            RowBody::Question { number, .. } => {
                if let Some(task) = row.task() {
                    names.asked = question(&self.cx, task.id(), *number).await?;
                }
            }
            _ => {}
        }
        Ok(names)
    }

    /// What the agent calls a task that speaks to it.
    async fn name_of(&self, task: TaskId) -> Result<String, Trouble> {
        if self.cx.lineage().parent == Some(task) {
            return Ok("parent".to_owned());
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
) -> Result<Option<String>, Error> {
    let questions = match cx.task(&task.to_string()).await {
        Ok(task) => task.questions().await?,
        Err(Error::NotFound { .. } | Error::Forbidden(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let asked = questions.into_iter().find(|question| question.number == number);
    Ok(asked.map(|question| question.text.to_string()))
}

/// Resolves when somebody wants the agent's attention at once.
pub(crate) async fn interrupted(cx: &Context) {
    until(cx, |row| mode(row) == Some(Mode::Interrupt)).await;
}

/// Resolves when there is a message that is not meant for the end of the turn.
pub(crate) async fn steered(cx: &Context) {
    until(cx, |row| mode(row).is_some_and(|mode| mode != Mode::FollowUp)).await;
}

/// Resolves when there is a message of any mode, or a question.
pub(crate) async fn wanted(cx: &Context) {
    until(cx, |row| matches!(row.body(), RowBody::Message(_) | RowBody::Question { .. })).await;
}

fn mode(row: Arrival<'_>) -> Option<Mode> {
    row.message().map(|said| said.mode)
}

/// Resolves when there is such a row. A look that fails is repeated when there
/// is something new: whoever waits has other reasons to end, too.
async fn until(cx: &Context, wanted: impl Fn(Arrival<'_>) -> bool) {
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
async fn is_there(cx: &Context, wanted: impl Fn(Arrival<'_>) -> bool) -> Result<bool, Error> {
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

fn is_due(row: Arrival<'_>, when: When) -> bool {
    when == When::TurnEnd || row.message().is_none_or(|said| said.mode != Mode::FollowUp)
}
