//! Questions: the task that asks waits without a slot for the answer.

use std::fmt;
use std::future::{Future, IntoFuture, pending};
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use offshoot_core::{
    Addressee, Payload, Question, QuestionKind, Resolution, Row, RowBody, TaskId, TooLarge,
    WaitingOn,
};
use offshoot_store::{Batch, CommitError, Conflict, Write};
use parking_lot::Mutex;

use crate::access;
use crate::engine::handle::Viewer;
use crate::engine::live_task::LiveTask;
use crate::engine::{Engine, MAX_DECISIONS, NotifyTarget};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::suspend::suspend;

/// A question of a body. Await it to ask it and to get the answer.
#[must_use = "a question is not asked until it is awaited"]
pub struct QuestionRequest {
    engine: Arc<Engine>,
    live: Arc<LiveTask>,
    text: Arc<str>,
    about: Payload,
    wants: QuestionKind,
    addressee: Addressee,
    key: Option<Arc<str>>,
    // Never locked: the mutex makes the type `Sync`.
    given_up: Mutex<BoxFuture<()>>,
}

fn never() -> BoxFuture<()> {
    Box::pin(pending())
}

impl fmt::Debug for QuestionRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuestionRequest").field("text", &self.text).finish_non_exhaustive()
    }
}

impl QuestionRequest {
    pub(crate) fn new(engine: Arc<Engine>, live: Arc<LiveTask>, text: &str) -> Self {
        let (text, about) = (text.into(), Payload::Null);
        let given_up = Mutex::new(never());
        let (wants, addressee) = (QuestionKind::Input, Addressee::Owner);
        Self { engine, live, text, about, wants, addressee, key: None, given_up }
    }

    /// Sets the exact subject that the question is bound to.
    pub fn about(mut self, about: Payload) -> Self {
        self.about = about;
        self
    }

    /// Asks for approval instead of input.
    pub fn approval(mut self) -> Self {
        self.wants = QuestionKind::Approval;
        self
    }

    /// Asks the user instead of the owner: no row is put into the owner's inbox,
    /// and a body that waits for this task goes on waiting.
    pub fn of_person(mut self) -> Self {
        self.addressee = Addressee::Person;
        self
    }

    /// Sets the journal key. A later attempt that asks the same question under
    /// the same key gets the same question, answered or not. A different
    /// question under the same key is refused.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Withdraws the question if this resolves before it is answered. The
    /// question then ends with [`Error::Cancelled`].
    ///
    /// A question that is dropped instead stays open, and its answer is not
    /// read.
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
        let (engine, live) = (&self.engine, &self.live);
        let on = match self.wants {
            QuestionKind::Input => WaitingOn::Input(number),
            QuestionKind::Approval => WaitingOn::Approval(number),
        };
        let suspension = suspend(engine, live, on).await?;
        let closed = until_closed(engine, live, number, &mut given_up).await;
        suspension.end().await?;
        match closed? {
            Resolution::Answered { answer, .. } => Ok(answer),
            Resolution::Withdrawn { .. } => Err(Error::Cancelled),
        }
    }

    /// The number of the same question, if it was asked under this key before.
    fn find_same(&self, earlier: &[Question], question: &Question) -> Result<Option<u32>, Error> {
        let Some(key) = &self.key else { return Ok(None) };
        match earlier.iter().find(|one| one.key.as_ref() == Some(key)) {
            None => Ok(None),
            Some(found) if found.asks_the_same(question) => Ok(Some(found.number)),
            Some(found) => Err(Error::QuestionKeyReused { key: key.clone(), number: found.number }),
        }
    }

    /// Commits the question, with a row for the owner if it is the addressee,
    /// and returns its number. The same question under the same key is found
    /// instead.
    async fn put(&self) -> Result<u32, Error> {
        let (engine, id) = (&self.engine, self.live.spec.id);
        let owner = self.live.spec.owner();
        for _ in 0..MAX_DECISIONS {
            let earlier = engine.store.questions(id).await?;
            let number = u32::try_from(earlier.len() + 1).map_err(|_| Error::Contended)?;
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
            if let Some(number) = self.find_same(&earlier, &question)? {
                return Ok(number);
            }
            let mut batch =
                Batch::new(at).fenced(id, self.live.epoch()).write(Write::Ask(Box::new(question)));
            let target = match self.addressee {
                Addressee::Owner => {
                    let body = RowBody::Question { task: id, number };
                    let row = Row { id: engine.mint_row(at), owner, at, body };
                    batch = batch.write(Write::Deliver(Box::new(row)));
                    NotifyTarget::Inbox(owner)
                }
                Addressee::Person => NotifyTarget::Record(id),
            };
            match engine.commit(batch, target).await {
                Ok(_) => {
                    if self.key.is_some() {
                        engine.advance(&self.live).await;
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

impl IntoFuture for QuestionRequest {
    type Output = Result<Payload, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}

async fn until_closed(
    engine: &Engine,
    live: &Arc<LiveTask>,
    number: u32,
    given_up: &mut BoxFuture<()>,
) -> Result<Resolution, Error> {
    let id = live.spec.id;
    loop {
        let notified = live.wakeup.notified();
        let questions = engine.store.questions(id).await?;
        let question = questions.into_iter().find(|question| question.number == number);
        if let Some(closed) = question.and_then(|question| question.closed) {
            return Ok(closed);
        }
        if live.is_cancelled() {
            withdraw(engine, live, number).await?;
            return Err(Error::Cancelled);
        }
        engine.check_open()?;
        if let Either::Right(_) = select(pin!(notified), &mut *given_up).await {
            withdraw(engine, live, number).await?;
            *given_up = never();
        }
    }
}

async fn withdraw(engine: &Engine, live: &Arc<LiveTask>, number: u32) -> Result<(), Error> {
    let at = engine.now();
    let close = Write::CloseQuestion {
        task: live.spec.id,
        number,
        closed: Box::new(Resolution::Withdrawn { at }),
    };
    let batch = Batch::new(at).fenced(live.spec.id, live.epoch()).write(close);
    match engine.store.commit(batch).await {
        // An answer that came first stays in the record, unread.
        Ok(_) | Err(CommitError::Conflict(Conflict::QuestionClosed(..))) => Ok(()),
        Err(error) => Err(Error::from_commit(error)),
    }
}

/// Answers a question. The first answer wins.
pub(crate) async fn answer(
    engine: &Arc<Engine>,
    viewer: &Viewer,
    (task, number): (TaskId, u32),
    answer: Payload,
) -> Result<(), Error> {
    let target = access::touchable(engine, viewer, task).await?;
    let bytes = usize::try_from(answer.bytes()).unwrap_or(usize::MAX);
    TooLarge::check("answer", bytes, engine.config.sizes.inline)?;
    if !target.is_live() {
        return Err(Error::Ended { id: task, state: target.state });
    }
    let at = engine.now();
    let closed = Box::new(Resolution::Answered { by: viewer.caller, answer, at });
    let batch = Batch::new(at).write(Write::CloseQuestion { task, number, closed });
    engine.commit(batch, NotifyTarget::Question(task)).await.map_err(Error::from_commit)?;
    Ok(())
}
