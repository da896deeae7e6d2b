//! The end of a turn: the agent waits for what it has sent off, or has ended.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{FailureKind, Owner, Payload, Task, Tie};
use offshoot_models::Stop;
use offshoot_runtime::{Context, TaskRef};

use crate::block::Entry;
use crate::life::{Life, Next, Trouble};
use crate::mail::{When, steered};
use crate::notice::envelope;

/// How many of its tasks an agent waits for by name. If there are more it is
/// woken by what comes home.
const NAMED: usize = 64;

impl Life {
    /// The model has ended its turn.
    pub(crate) async fn rest(&mut self, stop: &Stop) -> Result<Next, Trouble> {
        // In this order: of whoever has ended by now the mail tells.
        let children = Box::pin(children(&self.cx)).await?;
        if Box::pin(self.read_mail(When::TurnEnd)).await? {
            return Ok(Next::Goes);
        }
        if !children.is_empty() {
            self.wait_for(children).await?;
            Box::pin(self.read_mail(When::TurnEnd)).await?;
            // It has waited without its conversation.
            return Ok(Next::Forgets);
        }
        Box::pin(self.end(stop)).await
    }

    /// Waits until something has come home that is worth a turn, or nothing is
    /// out any more. An agent that nobody has spoken to for many turns waits
    /// for everything.
    async fn wait_for(&mut self, children: Vec<TaskRef>) -> Result<(), Trouble> {
        let patient = self.talk.turns() >= self.seat.limits.wakes;
        self.talk = Default::default();
        let all = self.cx.wait(&children);
        if patient {
            all.await?;
            return Ok(());
        }
        let (all, worth) = (pin!(all.into_future()), pin!(self.cx.idle(1)));
        match select(all, worth).await {
            Either::Left((ended, _)) => drop(ended?),
            Either::Right((rows, _)) => drop(rows?),
        }
        Ok(())
    }

    /// Nothing is out and nothing is unread: the agent has ended, if it has an
    /// answer.
    async fn end(&mut self, stop: &Stop) -> Result<Next, Trouble> {
        self.report().await?;
        if let Stop::Refused(why) = stop {
            let words = format!("the model refused: {why}");
            return Err(Trouble::failure(FailureKind::Error, words));
        }
        if let Some(result) = self.talk.finished() {
            return Ok(Next::Ends(Payload::from_json(result)?));
        }
        let answer = self.talk.answer();
        let lacks = match (&self.brief.result_schema, stop) {
            (Some(_), _) => Some(Lack::Finish),
            (None, Stop::Length) => Some(Lack::Rest),
            (None, _) if answer.trim().is_empty() => Some(Lack::Answer),
            (None, _) => None,
        };
        match lacks {
            None => Ok(Next::Ends(Payload::encode(&answer)?)),
            Some(lack) => self.repair(lack).await,
        }
    }

    /// Asks once for what is missing, and fails the second time.
    async fn repair(&mut self, lack: Lack) -> Result<Next, Trouble> {
        if self.talk.repairs() > 0 {
            let (kind, words) = lack.failure();
            return Err(Trouble::failure(kind, words));
        }
        let text = envelope(REPAIR, &[], lack.wanted());
        self.write(vec![Entry::Notice { text }], None, &[]).await?;
        Ok(Next::Goes)
    }
}

/// The tasks whose ends the agent must still be told.
async fn children(cx: &Context) -> Result<Vec<TaskRef>, Trouble> {
    let owned = |task: &&Task| task.spec.tie == Tie::Owned;
    // Of its own only: a session may have any number of others.
    let own = || cx.tasks().owner(Owner::Task(cx.id())).live();
    let mut found = Vec::new();
    let mut page = own().await?;
    loop {
        for task in page.items.iter().filter(owned) {
            found.push(cx.task(&task.id().to_string()).await?);
            if found.len() == NAMED {
                return Ok(found);
            }
        }
        let Some(next) = page.next else { return Ok(found) };
        page = own().after(next).await?;
    }
}

/// Waits until one of the agent's tasks has ended or asks, a message has
/// come, or a minute has passed.
pub(crate) async fn wait_for_change(cx: &Context) -> Result<(), Trouble> {
    const LONGEST: Duration = Duration::from_secs(60);
    let children = children(cx).await?;
    if children.is_empty() {
        return Ok(());
    }
    let ended = pin!(cx.wait(&children).any().timeout(LONGEST).into_future());
    match select(ended, pin!(steered(cx))).await {
        Either::Left((ended, _)) => drop(ended?),
        Either::Right(_) => {}
    }
    Ok(())
}

/// The kind of notice that asks for what is missing.
pub(crate) const REPAIR: &str = "repair";

/// What is missing at the end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Finish,
    Rest,
    Answer,
}

impl Lack {
    fn wanted(self) -> &'static str {
        match self {
            Self::Finish => {
                "You have ended your turn without a result. Call the tool finish now: its \
                 arguments are your result, and nothing else counts as one."
            }
            Self::Rest => {
                "Your answer was cut off because it was too long. Give a complete but shorter \
                 answer now."
            }
            Self::Answer => {
                "You have ended your turn without saying anything. Say now what you have found \
                 or done."
            }
        }
    }

    fn failure(self) -> (FailureKind, &'static str) {
        match self {
            Self::Finish => {
                (FailureKind::InvalidResult, "ended without a result that fits its schema")
            }
            Self::Rest => (FailureKind::Error, "the answer was longer than the model can give"),
            Self::Answer => (FailureKind::Error, "ended without an answer"),
        }
    }
}
