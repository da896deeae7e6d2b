//! Questions: the asker waits without a slot until somebody answers.

use std::fmt;
use std::future::{Future, IntoFuture, pending};
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use offshoot_core::{
    Addressee, Closed, Payload, Question, Row, RowBody, TaskId, TooLarge, WaitingOn, Wants,
};
use offshoot_store::{Batch, CommitError, Conflict, Write};
use parking_lot::Mutex;

use crate::cell::Cell;
use crate::engine::{Concerns, DECISIONS, Engine};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::task_ref::Viewer;

/// A question about to be asked. Await it to ask and get the answer.
#[must_use = "a question is not asked until it is awaited"]
pub struct Asking {
    engine: Arc<Engine>,
    cell: Arc<Cell>,
    text: Arc<str>,
    about: Payload,
    wants: Wants,
    addressee: Addressee,
    key: Option<Arc<str>>,
    // Locked by nobody: it only makes the rest shareable while it is asked.
    given_up: Mutex<BoxFuture<()>>,
}

fn never() -> BoxFuture<()> {
    Box::pin(pending())
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking").field("text", &self.text).finish_non_exhaustive()
    }
}

impl Asking {
    pub(crate) fn new(engine: Arc<Engine>, cell: Arc<Cell>, text: &str) -> Self {
        let (text, about) = (text.into(), Payload::Null);
        let given_up = Mutex::new(never());
        let (wants, addressee) = (Wants::Input, Addressee::Owner);
        Self { engine, cell, text, about, wants, addressee, key: None, given_up }
    }

    /// The exact matter the question is bound to.
    pub fn about(mut self, about: Payload) -> Self {
        self.about = about;
        self
    }

    /// Asks for leave, not for words.
    pub fn approval(mut self) -> Self {
        self.wants = Wants::Approval;
        self
    }

    /// Asks a person, and not the owner: nothing is put into the owner's inbox, and
    /// a body that waits for this task waits on.
    pub fn of_person(mut self) -> Self {
        self.addressee = Addressee::Person;
        self
    }

    /// The journal key: an attempt that comes later and asks the same under the
    /// same key finds the same question, answered or not. Asking something
    /// else under it is refused.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Withdraws the question when this resolves before anybody has answered;
    /// asking it ends as it does for a task that is cancelled. To drop the
    /// question instead would leave it open, for an answer that nobody reads.
    pub fn unless(mut self, given_up: impl Future<Output = ()> + Send + 'static) -> Self {
        self.given_up = Mutex::new(Box::pin(given_up));
        self
    }

    async fn ask(mut self) -> Result<Payload, Error> {
        self.engine.check_open()?;
        let sizes = &self.engine.config.sizes;
        TooLarge::check("question", self.text.len(), sizes.text)?;
        let about = usize::try_from(self.about.bytes()).unwrap_or(usize::MAX);
        TooLarge::check("matter of the question", about, sizes.inline)?;
        if let Some(key) = &self.key {
            TooLarge::check("key", key.len(), sizes.text)?;
        }
        let mut given_up = std::mem::replace(self.given_up.get_mut(), never());
        let number = self.put().await?;
        let (engine, cell) = (&self.engine, &self.cell);
        let on = match self.wants {
            Wants::Input => WaitingOn::Input(number),
            Wants::Approval => WaitingOn::Approval(number),
        };
        let parked = engine.park(cell, on).await?;
        let closed = engine.until_closed(cell, number, &mut given_up).await;
        parked.end().await?;
        match closed? {
            Closed::Answered { answer, .. } => Ok(answer),
            Closed::Withdrawn { .. } => Err(Error::Cancelled),
        }
    }

    /// The number of the same question, asked before under this key.
    fn asked_before(&self, asked: &[Question], now: &Question) -> Result<Option<u32>, Error> {
        let Some(key) = &self.key else { return Ok(None) };
        match asked.iter().find(|one| one.key.as_ref() == Some(key)) {
            None => Ok(None),
            Some(before) if before.asks_the_same(now) => Ok(Some(before.number)),
            Some(before) => {
                Err(Error::QuestionKeyReused { key: key.clone(), number: before.number })
            }
        }
    }

    /// Commits the question, and the row that puts it before the owner if it is
    /// for that one, unless it was asked before.
    async fn put(&self) -> Result<u32, Error> {
        let (engine, id) = (&self.engine, self.cell.spec.id);
        let owner = self.cell.spec.owner();
        for _ in 0..DECISIONS {
            let asked = engine.store.questions(id).await?;
            let number = u32::try_from(asked.len() + 1).map_err(|_| Error::Contended)?;
            let at = engine.now();
            let question = Question {
                task: id,
                number,
                wants: self.wants,
                addressee: self.addressee,
                text: self.text.clone(),
                about: self.about.clone(),
                key: self.key.clone(),
                at,
                closed: None,
            };
            if let Some(number) = self.asked_before(&asked, &question)? {
                return Ok(number);
            }
            let mut batch =
                Batch::new(at).fenced(id, self.cell.epoch()).write(Write::Ask(Box::new(question)));
            let concerns = match self.addressee {
                Addressee::Owner => {
                    let body = RowBody::Question { task: id, number };
                    let row = Row { id: engine.mint_row(at), owner, at, body };
                    batch = batch.write(Write::Deliver(Box::new(row)));
                    Concerns::Inbox(owner)
                }
                Addressee::Person => Concerns::Record(id),
            };
            match engine.commit(batch, concerns).await {
                Ok(_) => {
                    if self.key.is_some() {
                        engine.advance(&self.cell).await;
                    }
                    return Ok(number);
                }
                Err(CommitError::Conflict(Conflict::QuestionClosed(..))) => {}
                Err(error) => return Err(Error::from_commit(error)),
            }
        }
        Err(Error::Contended)
    }
}

impl IntoFuture for Asking {
    type Output = Result<Payload, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}

impl Engine {
    async fn until_closed(
        &self,
        cell: &Arc<Cell>,
        number: u32,
        given_up: &mut BoxFuture<()>,
    ) -> Result<Closed, Error> {
        let id = cell.spec.id;
        loop {
            let nudged = cell.nudge.listen();
            let asked = self.store.questions(id).await?;
            let question = asked.into_iter().find(|question| question.number == number);
            if let Some(closed) = question.and_then(|question| question.closed) {
                return Ok(closed);
            }
            if cell.is_cancelled() {
                self.withdraw(cell, number).await?;
                return Err(Error::Cancelled);
            }
            self.check_open()?;
            if let Either::Right(_) = select(pin!(nudged), &mut *given_up).await {
                self.withdraw(cell, number).await?;
                *given_up = never();
            }
        }
    }

    async fn withdraw(&self, cell: &Arc<Cell>, number: u32) -> Result<(), Error> {
        let at = self.now();
        let close = Write::CloseQuestion {
            task: cell.spec.id,
            number,
            closed: Box::new(Closed::Withdrawn { at }),
        };
        let batch = Batch::new(at).fenced(cell.spec.id, cell.epoch()).write(close);
        match self.store.commit(batch).await {
            // Answered in the last moment: the answer stands, unread.
            Ok(_) | Err(CommitError::Conflict(Conflict::QuestionClosed(..))) => Ok(()),
            Err(error) => Err(Error::from_commit(error)),
        }
    }

    /// Answers a question; the first answer stands.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        viewer: &Viewer,
        task: TaskId,
        number: u32,
        answer: Payload,
    ) -> Result<(), Error> {
        let target = self.touchable(viewer, task).await?;
        let bytes = usize::try_from(answer.bytes()).unwrap_or(usize::MAX);
        TooLarge::check("answer", bytes, self.config.sizes.inline)?;
        if !target.is_live() {
            return Err(Error::Ended { id: task, state: target.state });
        }
        let at = self.now();
        let closed = Box::new(Closed::Answered { by: viewer.caller, answer, at });
        let batch = Batch::new(at).write(Write::CloseQuestion { task, number, closed });
        self.commit(batch, Concerns::Question(task)).await.map_err(Error::from_commit)?;
        Ok(())
    }
}
