//! The journal of a task: a committed step is never done again.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{Payload, Step, StepState, Timer, TooLarge, WaitingOn, sleep_key, step_key};
use offshoot_store::{Batch, CommitError, Conflict, Write};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::Engine;
use crate::engine::body::BodyError;
use crate::engine::handle::Context;
use crate::engine::live_task::LiveTask;
use crate::engine::step_locks::StepLock;
use crate::error::Error;
use crate::suspend::suspend;

/// A step of the journal. Await it: it resolves with the value committed under
/// its key, and does its work first if there is none.
///
/// If another step of the same key is in progress in the same body, this one
/// waits for it and resolves with its value. If that one fails, this one does
/// its work. A later attempt gets the same value.
#[must_use = "a step does nothing until it is awaited"]
pub struct StepRequest<F> {
    cx: Context,
    key: Arc<str>,
    work: F,
    repeat: StepRepeat,
}

/// The treatment of a step that began earlier and did not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepRepeat {
    /// It is done again.
    Allowed,
    /// It fails with [`Error::Unknown`].
    Never,
}

impl<F> StepRequest<F> {
    pub(crate) fn new(cx: Context, key: &str, work: F) -> Self {
        Self { cx, key: step_key(key), work, repeat: StepRepeat::Allowed }
    }

    /// Never does the work twice: a step that began earlier and did not commit
    /// fails with [`Error::Unknown`].
    pub fn once(mut self) -> Self {
        self.repeat = StepRepeat::Never;
        self
    }
}

/// Why a step has no value.
#[derive(Debug)]
pub enum StepError {
    /// It began earlier and did not commit, and its work is not done twice.
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

impl<F, Run, T, E> StepRequest<F>
where
    F: FnOnce() -> Run + Send + 'static,
    Run: Future<Output = Result<T, E>> + Send + 'static,
    T: Serialize + DeserializeOwned + Send + 'static,
    E: Into<BodyError> + Send + 'static,
{
    /// Returns the value, or a [`StepError`] that tells the reasons apart.
    /// Awaiting the step itself returns a [`BodyError`], for `?`.
    pub async fn value(self) -> Result<T, StepError> {
        let Self { cx, key, work, repeat } = self;
        let (engine, live) = (&cx.engine, &cx.live);
        let journal = |error: Error| match error {
            Error::Unknown(_) => StepError::Unknown,
            error => StepError::Journal(error),
        };
        let size = TooLarge::check("key", key.len(), engine.config.sizes.text);
        size.map_err(|error| journal(error.into()))?;
        let lock = StepLock::acquire(live, &key).await.map_err(journal)?;
        match begin_step(engine, live, &key, repeat).await.map_err(journal)? {
            Some(value) => engine.load(&value).await.map_err(journal),
            None => {
                let worked = lock.work(work()).await;
                let value = worked.map_err(|error| StepError::Work(error.into()))?;
                let payload = Payload::encode(&value).map_err(|error| journal(error.into()))?;
                commit_step(engine, live, &key, payload).await.map_err(journal)?;
                Ok(value)
            }
        }
    }
}

impl<F, Run, T, E> IntoFuture for StepRequest<F>
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

/// The value of a committed step; `None` if its work is to be done.
async fn begin_step(
    engine: &Engine,
    live: &Arc<LiveTask>,
    key: &Arc<str>,
    repeat: StepRepeat,
) -> Result<Option<Payload>, Error> {
    engine.check_open()?;
    match engine.store.step(live.spec.id, key).await? {
        Some(StepState::Committed(value)) => return Ok(Some(value)),
        Some(StepState::Started) if repeat == StepRepeat::Never => {
            return Err(Error::Unknown(key.clone()));
        }
        _ => {}
    }
    if repeat == StepRepeat::Never {
        write_step(engine, live, key, StepState::Started).await?;
    }
    Ok(None)
}

async fn commit_step(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    key: &Arc<str>,
    value: Payload,
) -> Result<(), Error> {
    let value = engine.store_large(live, "step value", value).await?;
    write_step(engine, live, key, StepState::Committed(value)).await?;
    engine.advance(live).await;
    Ok(())
}

async fn write_step(
    engine: &Engine,
    live: &Arc<LiveTask>,
    key: &Arc<str>,
    state: StepState,
) -> Result<(), Error> {
    let (task, epoch) = (live.spec.id, live.epoch());
    let step = Step { task, key: key.clone(), state: state.clone() };
    let batch = Batch::new(engine.now()).fenced(task, epoch).write(Write::Step(step));
    match engine.store.commit(batch).await {
        Ok(_) => Ok(()),
        Err(CommitError::Store(error)) => {
            // The step may have been written without an answer.
            match engine.store.step(task, key).await {
                Ok(Some(found)) if found == state => Ok(()),
                _ => Err(error.into()),
            }
        }
        Err(CommitError::Conflict(Conflict::StepCommitted(..))) => Err(Error::Contended),
        Err(error) => Err(Error::from_commit(error)),
    }
}

/// Waits for a stored timer. The timer keeps its due time across restarts. While
/// the process lives the monotonic clock measures the wait.
pub(crate) async fn sleep_durably(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    key: &str,
    span: Duration,
) -> Result<(), Error> {
    engine.check_open()?;
    TooLarge::check("key", key.len(), engine.config.sizes.text)?;
    let id = live.spec.id;
    let key = sleep_key(key);
    let _lock = StepLock::acquire(live, &key).await?;
    if let Some(StepState::Committed(_)) = engine.store.step(id, &key).await? {
        return Ok(());
    }
    let armed = engine.store.timers(id).await?;
    let now = engine.now();
    let due = match armed.iter().find(|timer| timer.key == key) {
        Some(timer) => timer.due,
        None => {
            let due = now.after(span);
            let timer = Timer { task: id, key: key.clone(), due };
            let batch = Batch::new(now).fenced(id, live.epoch()).write(Write::Arm(timer));
            engine.store.commit(batch).await.map_err(Error::from_commit)?;
            due
        }
    };
    let suspension = suspend(engine, live, WaitingOn::Timer(due)).await?;
    let over = std::pin::pin!(engine.world.sleep(due.since(now)));
    let cancelled = std::pin::pin!(live.cancelled());
    let slept = matches!(select(over, cancelled).await, Either::Left(_));
    suspension.end().await?;
    if !slept {
        return Err(Error::Cancelled);
    }
    let now = engine.now();
    let state = StepState::Committed(Payload::Null);
    let batch = Batch::new(now)
        .fenced(id, live.epoch())
        .write(Write::Step(Step { task: id, key: key.clone(), state }))
        .write(Write::Disarm { task: id, key });
    engine.store.commit(batch).await.map_err(Error::from_commit)?;
    engine.advance(live).await;
    Ok(())
}
