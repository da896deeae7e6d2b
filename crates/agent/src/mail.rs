//! What comes home is put into the conversation, and acknowledged by the commit
//! that does it.

use offshoot_core::Mode;
use offshoot_runtime::{Arrival, Context, Rows};

use crate::life::{Life, Trouble};
use crate::notice;

/// How many rows enter a conversation at once.
const MOST: usize = 64;

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
        let allowance = self.seat.limits.allowance;
        let entries = rows.iter().map(|row| notice::entry(row, allowance)).collect();
        self.write(entries, Some(rows), &[]).await?;
        Ok(true)
    }
}

/// Resolves when somebody wants the agent's attention at once.
pub(crate) async fn interrupted(cx: &Context) {
    until(cx, |mode| mode == Mode::Interrupt).await;
}

/// Resolves when there is a message that is not meant for the end of the turn.
pub(crate) async fn steered(cx: &Context) {
    until(cx, |mode| mode != Mode::FollowUp).await;
}

/// Resolves when there is a message of such a mode. A look that fails is
/// repeated when there is something new: whoever waits has other reasons to
/// end, too.
async fn until(cx: &Context, wanted: impl Fn(Mode) -> bool) {
    loop {
        let news = cx.news();
        // In a box, so that it takes no room between two looks.
        if let Ok(rows) = Box::pin(cx.drain(MOST)).await
            && rows.iter().any(|row| row.message().is_some_and(|said| wanted(said.mode)))
        {
            return;
        }
        news.await;
    }
}

fn is_due(row: Arrival<'_>, when: When) -> bool {
    when == When::TurnEnd || row.message().is_none_or(|said| said.mode != Mode::FollowUp)
}
