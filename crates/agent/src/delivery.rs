//! The agent's inbox: which rows are due, and waits for them.

use offshoot_core::{DeliveryMode, Owner, Question, RowBody, TaskId};
use offshoot_runtime::{Context, Error, InboxRow};

/// The most rows of one read.
const BATCH: usize = 64;

/// The point in a turn at which the agent reads its inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryPoint {
    /// Between two steps. Rows for the end of the turn stay unread.
    MidTurn,
    /// Between two turns.
    TurnEnd,
}

/// Finds a question of one of the agent's tasks by its number.
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

/// Waits for a message that interrupts the agent.
pub(crate) async fn interrupted(cx: &Context) {
    row_arrived(cx, |row| mode(row) == Some(DeliveryMode::Interrupt)).await;
}

/// Waits for a message that is due before the end of the turn.
pub(crate) async fn steered(cx: &Context) {
    row_arrived(cx, |row| mode(row).is_some_and(|mode| mode != DeliveryMode::FollowUp)).await;
}

/// Waits for a message of any mode, or a question.
pub(crate) async fn wanted(cx: &Context) {
    row_arrived(cx, |row| matches!(row.body(), RowBody::Message(_) | RowBody::Question { .. }))
        .await;
}

/// Waits for a row that is due before the next step.
pub(crate) async fn due_now(cx: &Context) {
    row_arrived(cx, |row| is_due(row, DeliveryPoint::MidTurn)).await;
}

/// Whether a row is due before the next step.
pub(crate) async fn is_due_now(cx: &Context) -> Result<bool, Error> {
    has_row(cx, |row| is_due(row, DeliveryPoint::MidTurn)).await
}

/// Whether the agent reads this row at this point.
pub(crate) fn is_due(row: InboxRow<'_>, point: DeliveryPoint) -> bool {
    point == DeliveryPoint::TurnEnd || mode(row) != Some(DeliveryMode::FollowUp)
}

/// Waits until the agent has no live task. Each end leaves a row, so it is news.
pub(crate) async fn children_ended(cx: &Context) -> Result<(), Error> {
    loop {
        let news = cx.news();
        // Boxed, so that it takes no room between two reads.
        let live = Box::pin(cx.tasks().owner(Owner::Task(cx.id())).live().limit(1).into_future());
        if live.await?.items.is_empty() {
            return Ok(());
        }
        news.await;
    }
}

fn mode(row: InboxRow<'_>) -> Option<DeliveryMode> {
    row.message().map(|message| message.mode)
}

/// Waits for a matching row. A failed read is repeated at the next news: each
/// waiter has other reasons to end, too.
async fn row_arrived(cx: &Context, matches: impl Fn(InboxRow<'_>) -> bool) {
    loop {
        let news = cx.news();
        // Boxed, so that it takes no room between two reads.
        if let Ok(true) = Box::pin(has_row(cx, &matches)).await {
            return;
        }
        news.await;
    }
}

/// Whether there is a matching row. All rows are read: inherited rows keep their
/// numbers, so a new row may precede older ones.
async fn has_row(cx: &Context, matches: impl Fn(InboxRow<'_>) -> bool) -> Result<bool, Error> {
    let mut after = 0;
    loop {
        let rows = cx.drain_after(after, BATCH).await?;
        if rows.iter().any(&matches) {
            return Ok(true);
        }
        match rows.last_number() {
            Some(last) if rows.len() == BATCH => after = last,
            _ => return Ok(false),
        }
    }
}
