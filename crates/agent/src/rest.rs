//! The end of a turn: the agent waits for what it has sent off, or has ended.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{FailureKind, Owner, Payload, Task, Tie, WaitingOn};
use offshoot_models::Stop;
use offshoot_runtime::TaskRef;

use crate::block::Entry;
use crate::close::Limit;
use crate::delta::Delta;
use crate::life::{Life, Next, Trouble};
use crate::mail::{When, spoken_to, steered};
use crate::notice::envelope;

/// How many of its tasks an agent waits for by name. If there are more it is
/// woken by what comes home.
const NAMED: usize = 64;

/// How many of them are told by name.
const TOLD: usize = 8;

impl Life {
    /// The model has ended its turn.
    pub(crate) async fn rest(&mut self, stop: &Stop) -> Result<Next, Trouble> {
        // In this order: of whoever has ended by now the mail tells.
        let children = Box::pin(self.children()).await?;
        if Box::pin(self.read_mail(When::TurnEnd)).await? {
            return Ok(Next::Goes);
        }
        if !children.is_empty() {
            if let Some(limit @ Limit::Time(_)) = self.reached() {
                Box::pin(self.close(limit)).await?;
                return Ok(Next::Goes);
            }
            Box::pin(self.tell_running(&children)).await?;
            self.wait_for(children).await?;
            Box::pin(self.read_mail(When::TurnEnd)).await?;
            // It has waited without its conversation.
            return Ok(Next::Forgets);
        }
        Box::pin(self.end(stop)).await
    }

    /// Says what is still running, once for each turn that ends so: what the
    /// model says of it need not be so.
    async fn tell_running(&mut self, children: &[TaskRef]) -> Result<(), Trouble> {
        if self.talk.is_running_told() {
            return Ok(());
        }
        let mut handles: Vec<_> = children.iter().map(|task| task.handle()).collect();
        let more = handles.len().saturating_sub(TOLD);
        handles.truncate(TOLD);
        let mut text = format!("Still running: {}", handles.join(", "));
        if more > 0 {
            text = format!("{text} and {more} more");
        }
        let told: Arc<str> = text.as_str().into();
        self.seat.deltas.tell(self.cx.id(), || Delta::Running { text: told });
        self.write(vec![Entry::Running { text }], None, &[]).await
    }

    /// The tasks whose ends the agent must still be told.
    async fn children(&self) -> Result<Vec<TaskRef>, Trouble> {
        let owned = |task: &&Task| task.spec.tie == Tie::Owned;
        // Of its own only: a session may have any number of others.
        let own = || self.cx.tasks().owner(Owner::Task(self.cx.id())).live();
        let mut found = Vec::new();
        let mut page = own().await?;
        loop {
            for task in page.items.iter().filter(owned) {
                found.push(self.cx.task(&task.id().to_string()).await?);
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
    pub(crate) async fn wait_for_change(&self) -> Result<(), Trouble> {
        const LONGEST: Duration = Duration::from_secs(60);
        let children = self.children().await?;
        if children.is_empty() {
            return Ok(());
        }
        let ended = pin!(self.cx.wait(&children).any().timeout(LONGEST).into_future());
        match select(ended, pin!(steered(&self.cx))).await {
            Either::Left((ended, _)) => drop(ended?),
            Either::Right(_) => {}
        }
        Ok(())
    }

    /// Waits until something has come home that is worth a turn, or nothing is
    /// out any more. An agent that nobody has spoken to for many turns waits
    /// for everything.
    async fn wait_for(&mut self, children: Vec<TaskRef>) -> Result<(), Trouble> {
        let patient = self.talk.turns() > self.seat.limits.wakes;
        self.talk = Default::default();
        if patient {
            return Box::pin(self.wait_for_all(children)).await;
        }
        let late = pin!(self.late());
        let all = pin!(self.cx.wait(&children).into_future());
        let worth = pin!(self.cx.idle_on(WaitingOn::Children, 1));
        match select(all, select(worth, late)).await {
            Either::Left((ended, _)) => drop(ended?),
            Either::Right((Either::Left((rows, _)), _)) => drop(rows?),
            Either::Right((Either::Right(_), _)) => {}
        }
        Ok(())
    }

    /// Waits until nothing is out any more, one of the tasks asks something, or
    /// somebody speaks to the agent.
    async fn wait_for_all(&self, mut children: Vec<TaskRef>) -> Result<(), Trouble> {
        let (spoken_to, late) = (pin!(spoken_to(&self.cx)), pin!(self.late()));
        let mut stopped = select(spoken_to, late);
        while !children.is_empty() {
            let all = pin!(self.cx.wait(&children).into_future());
            match select(all, &mut stopped).await {
                Either::Left((waited, _)) => {
                    if !waited?.iter().all(|one| one.is_ended()) {
                        return Ok(());
                    }
                }
                Either::Right(_) => return Ok(()),
            }
            children = self.children().await?;
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

    /// The agent has handed in a result that does not fit, was told why, and has
    /// handed in another one that does not.
    pub(crate) fn misfit(&self) -> Trouble {
        let (kind, words) = Lack::Finish.failure();
        Trouble::failure(kind, words)
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
