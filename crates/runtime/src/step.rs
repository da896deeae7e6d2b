//! The journal: what a body has done is never done again.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{Payload, Step, StepState, Timer, TooLarge, WaitingOn, sleep_key, step_key};
use offshoot_store::{Batch, CommitError, Conflict, Write};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::body::BodyError;
use crate::cell::Cell;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::journal::Turn;

/// A step about to be taken. Await it: it resolves with the value committed
/// under its key, computing it if nobody has.
///
/// If another step of the same key is under way in the same body, this one
/// waits for it and resolves with its value; only if that one fails is this
/// one's work done. A later attempt finds the same value under the key, so it
/// does not see a difference.
#[must_use = "a step does nothing until it is awaited"]
pub struct Stepping<F> {
    cx: Context,
    key: Arc<str>,
    work: F,
    repeat: Repeat,
}

/// What happens when a step began and did not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    /// It is taken again.
    Allowed,
    /// It yields [`Error::Unknown`].
    Never,
}

impl<F> Stepping<F> {
    pub(crate) fn new(cx: Context, key: &str, work: F) -> Self {
        Self { cx, key: step_key(key), work, repeat: Repeat::Allowed }
    }

    /// Never takes the step twice: if it began before and did not commit, it
    /// yields [`Error::Unknown`].
    pub fn once(mut self) -> Self {
        self.repeat = Repeat::Never;
        self
    }
}

/// Why a step has no value.
#[derive(Debug)]
pub enum StepError {
    /// It began before and did not commit, and is not taken twice.
    Unknown,
    /// Its work failed.
    Work(BodyError),
    /// The journal could not be read or written.
    Journal(Error),
}

impl From<StepError> for BodyError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Work(error) => error,
            StepError::Journal(error) => error.into(),
            StepError::Unknown => Self::message("the outcome of a step is unknown"),
        }
    }
}

impl<F, Run, T, E> Stepping<F>
where
    F: FnOnce() -> Run + Send + 'static,
    Run: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize + DeserializeOwned + Send + 'static,
    E: Into<BodyError> + Send + 'static,
{
    /// The value, or which of the reasons there is for having none. Awaiting
    /// the step itself does the same for a body that just passes errors on.
    pub async fn value(self) -> Result<T, StepError> {
        let Self { cx, key, work, repeat } = self;
        let (engine, cell) = (cx.engine(), cx.cell());
        let journal = |error: Error| match error {
            Error::Unknown(_) => StepError::Unknown,
            error => StepError::Journal(error),
        };
        let size = TooLarge::check("key", key.len(), engine.config.sizes.text);
        size.map_err(|error| journal(error.into()))?;
        let turn = Turn::wait(cell, &key).await.map_err(journal)?;
        match engine.begin_step(cell, &key, repeat).await.map_err(journal)? {
            Some(value) => engine.load(&value).await.map_err(journal),
            None => {
                let worked = turn.work(work()).await;
                let value = worked.map_err(|error| StepError::Work(error.into()))?;
                let payload = Payload::encode(&value).map_err(|error| journal(error.into()))?;
                engine.commit_step(cell, &key, payload).await.map_err(journal)?;
                Ok(value)
            }
        }
    }
}

impl<F, Run, T, E> IntoFuture for Stepping<F>
where
    F: FnOnce() -> Run + Send + 'static,
    Run: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize + DeserializeOwned + Send + 'static,
    E: Into<BodyError> + Send + 'static,
{
    type Output = Result<T, BodyError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let key = self.key.clone();
        Box::pin(async move {
            self.value().await.map_err(|error| match error {
                StepError::Unknown => Error::Unknown(key).into(),
                error => error.into(),
            })
        })
    }
}

impl Engine {
    /// The value of a step that was committed; `None` if it is to be taken.
    async fn begin_step(
        &self,
        cell: &Arc<Cell>,
        key: &Arc<str>,
        repeat: Repeat,
    ) -> Result<Option<Payload>, Error> {
        self.check_open()?;
        match self.store.step(cell.spec.id, key).await? {
            Some(StepState::Committed(value)) => return Ok(Some(value)),
            Some(StepState::Started) if repeat == Repeat::Never => {
                return Err(Error::Unknown(key.clone()));
            }
            _ => {}
        }
        if repeat == Repeat::Never {
            self.write_step(cell, key, StepState::Started).await?;
        }
        Ok(None)
    }

    async fn commit_step(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        key: &Arc<str>,
        value: Payload,
    ) -> Result<(), Error> {
        let value = self.keep_large(cell, "step value", value).await?;
        self.write_step(cell, key, StepState::Committed(value)).await?;
        self.advance(cell).await;
        Ok(())
    }

    async fn write_step(
        &self,
        cell: &Arc<Cell>,
        key: &Arc<str>,
        state: StepState,
    ) -> Result<(), Error> {
        let (task, epoch) = (cell.spec.id, cell.epoch());
        let step = Step { task, key: key.clone(), state: state.clone() };
        let batch = Batch::new(self.now()).fenced(task, epoch).write(Write::Step(step));
        match self.store.commit(batch).await {
            Ok(_) => Ok(()),
            Err(CommitError::Store(error)) => {
                // The write may have happened although it was not said so.
                match self.store.step(task, key).await {
                    Ok(Some(found)) if found == state => Ok(()),
                    _ => Err(error.into()),
                }
            }
            Err(CommitError::Conflict(Conflict::StepCommitted(..))) => Err(Error::Contended),
            Err(error) => Err(Error::from_commit(error)),
        }
    }

    /// Waits for a stored timer. It keeps its due time across restarts; while
    /// the process lives only monotonic time counts.
    pub(crate) async fn sleep_durably(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        key: &str,
        span: Duration,
    ) -> Result<(), Error> {
        self.check_open()?;
        TooLarge::check("key", key.len(), self.config.sizes.text)?;
        let id = cell.spec.id;
        let key = sleep_key(key);
        let _turn = Turn::wait(cell, &key).await?;
        if let Some(StepState::Committed(_)) = self.store.step(id, &key).await? {
            return Ok(());
        }
        let armed = self.store.timers(id).await?;
        let now = self.now();
        let due = match armed.iter().find(|timer| timer.key == key) {
            Some(timer) => timer.due,
            None => {
                let due = now.after(span);
                let timer = Timer { task: id, key: key.clone(), due };
                let batch = Batch::new(now).fenced(id, cell.epoch()).write(Write::Arm(timer));
                self.store.commit(batch).await.map_err(Error::from_commit)?;
                due
            }
        };
        let parked = self.park(cell, WaitingOn::Timer(due)).await?;
        let over = std::pin::pin!(self.world.sleep(due.since(now)));
        let cancelled = std::pin::pin!(cell.cancelled());
        let slept = matches!(select(over, cancelled).await, Either::Left(_));
        parked.end().await?;
        if !slept {
            return Err(Error::Cancelled);
        }
        let now = self.now();
        let state = StepState::Committed(Payload::Null);
        let batch = Batch::new(now)
            .fenced(id, cell.epoch())
            .write(Write::Step(Step { task: id, key: key.clone(), state }))
            .write(Write::Disarm { task: id, key });
        self.store.commit(batch).await.map_err(Error::from_commit)?;
        self.advance(cell).await;
        Ok(())
    }

    /// A value, wherever it is kept.
    pub(crate) async fn load<T: DeserializeOwned>(&self, value: &Payload) -> Result<T, Error> {
        match value {
            Payload::Blob(blob) => {
                let json = self.store.blob(**blob).await?;
                let json =
                    json.ok_or_else(|| Error::not_found(format!("blob of {}", blob.task)))?;
                Ok(Payload::Json(json.into()).decode()?)
            }
            inline => Ok(inline.decode()?),
        }
    }
}
