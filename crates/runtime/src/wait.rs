//! Waiting for tasks: woken by the end itself, never by a look at the clock.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use offshoot_core::{Outcome, Spec, Task, TaskId, WaitingOn};
use offshoot_store::{Ack, Batch, RowRef, Strictness, Write};
use serde::de::DeserializeOwned;

use crate::engine::Engine;
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::task_ref::{TaskRef, Viewer};

/// A wait for one task. Await it; dropping it changes nothing.
#[must_use = "a wait does nothing until it is awaited"]
#[derive(Debug)]
pub struct Wait {
    task: TaskRef,
    timeout: Option<Duration>,
}

/// A wait for several tasks. Await it; dropping it changes nothing.
#[must_use = "a wait does nothing until it is awaited"]
#[derive(Debug)]
pub struct WaitMany {
    engine: Arc<Engine>,
    viewer: Viewer,
    specs: Vec<Arc<Spec>>,
    /// Tasks that somebody else's references name.
    foreign: Vec<TaskId>,
    want: Want,
    timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    Any,
    All,
}

/// Why a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The task has ended.
    Ended,
    /// The task asks something.
    NeedsInput,
    /// The time was over; the record is fresh.
    TimedOut,
}

/// A task as a wait found it.
#[derive(Clone, Debug)]
pub struct Waited {
    /// The record.
    pub task: Task,
    /// Why the wait returned.
    pub end: WaitEnd,
    /// The unread inbox row that tells of the end, to be acknowledged by
    /// whoever keeps the result.
    pub row: Option<RowRef>,
    owner: offshoot_core::Owner,
    engine: Arc<Engine>,
}

impl Wait {
    pub(crate) fn new(task: TaskRef) -> Self {
        Self { task, timeout: None }
    }

    /// Returns after `timeout` at the latest, with a fresh record. Zero looks
    /// and does not wait.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl IntoFuture for Wait {
    type Output = Result<Waited, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let TaskRef { engine, spec, viewer } = self.task;
        Box::pin(async move {
            let found = engine.wait(&viewer, vec![spec], Want::All, self.timeout).await?;
            found.into_iter().next().ok_or(Error::Closed)
        })
    }
}

impl WaitMany {
    pub(crate) fn new<'a>(
        engine: Arc<Engine>,
        viewer: Viewer,
        tasks: impl IntoIterator<Item = &'a TaskRef>,
    ) -> Self {
        let (mut specs, mut foreign) = (Vec::new(), Vec::new());
        for task in tasks {
            specs.push(task.spec.clone());
            if task.viewer.caller != viewer.caller {
                foreign.push(task.id());
            }
        }
        Self { engine, viewer, specs, foreign, want: Want::All, timeout: None }
    }

    /// Returns as soon as one of the tasks has ended or needs input. Without
    /// this, all must have ended, or one need input.
    pub fn any(mut self) -> Self {
        self.want = Want::Any;
        self
    }

    /// Returns after `timeout` at the latest, with fresh records.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl IntoFuture for WaitMany {
    type Output = Result<Vec<Waited>, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { engine, viewer, specs, foreign, want, timeout } = self;
        Box::pin(async move {
            // A reference is no pass: the caller itself must be in scope.
            for task in foreign {
                engine.touchable(&viewer, task).await?;
            }
            engine.wait(&viewer, specs, want, timeout).await
        })
    }
}

impl Engine {
    async fn wait(
        self: &Arc<Self>,
        viewer: &Viewer,
        specs: Vec<Arc<Spec>>,
        want: Want,
        timeout: Option<Duration>,
    ) -> Result<Vec<Waited>, Error> {
        self.check_open()?;
        let found = self.look(&specs).await?;
        if is_enough(&found, want) || timeout == Some(Duration::ZERO) {
            return self.waited(found).await;
        }
        let parked = match &viewer.cell {
            Some(cell) => Some(self.park(cell, WaitingOn::Children).await?),
            None => None,
        };
        let began = self.world.monotonic();
        let found = loop {
            let left =
                timeout.map(|timeout| timeout.saturating_sub(self.world.monotonic() - began));
            let enough = self.until_enough(viewer, &specs, want, left).await;
            let found = match enough {
                Ok(()) => self.look(&specs).await,
                Err(error) => Err(error),
            };
            // Who asked may have been answered since: then there is nothing to
            // tell yet.
            let over = timeout.is_some_and(|timeout| self.world.monotonic() - began >= timeout);
            match found {
                Ok(found) if !over && !is_enough(&found, want) => {}
                found => break found,
            }
        };
        if let Some(parked) = parked {
            parked.end().await?;
        }
        self.waited(found?).await
    }

    /// Resolves when enough tasks have ended or one needs input, when the time
    /// is over, or, with an error, when the waiter is cancelled.
    async fn until_enough(
        self: &Arc<Self>,
        viewer: &Viewer,
        specs: &[Arc<Spec>],
        want: Want,
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        let enough = async {
            let mut pending: FuturesUnordered<_> =
                specs.iter().map(|spec| self.until_rest(spec)).collect();
            while let Some(task) = pending.next().await {
                let task = task?;
                if want == Want::Any || task.is_live() {
                    break;
                }
            }
            Ok(())
        };
        let interrupted = async {
            match &viewer.cell {
                Some(cell) => cell.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let over = async {
            match timeout {
                Some(timeout) => self.world.sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let enough = std::pin::pin!(enough);
        let stopped = std::pin::pin!(async {
            let (interrupted, over) = (std::pin::pin!(interrupted), std::pin::pin!(over));
            match select(interrupted, over).await {
                Either::Left(_) => Err(Error::Cancelled),
                Either::Right(_) => Ok(()),
            }
        });
        match select(enough, stopped).await {
            Either::Left((done, _)) | Either::Right((done, _)) => done,
        }
    }

    /// Resolves when the task has ended or needs input.
    pub(crate) async fn until_rest(self: &Arc<Self>, spec: &Arc<Spec>) -> Result<Task, Error> {
        let mut answered = 0;
        loop {
            let rests = |task: &Task| {
                !task.is_live() || (task.state.question().is_some() && task.seq > answered)
            };
            let task = self.until(spec, rests).await?;
            match self.end_of(&task).await? {
                WaitEnd::Ended | WaitEnd::NeedsInput => return Ok(task),
                WaitEnd::TimedOut => answered = task.seq,
            }
        }
    }

    /// Why a wait for the task would return now. A question that was answered
    /// needs no input, even if its body has not gone on yet.
    async fn end_of(&self, task: &Task) -> Result<WaitEnd, Error> {
        if !task.is_live() {
            return Ok(WaitEnd::Ended);
        }
        let Some(number) = task.state.question() else { return Ok(WaitEnd::TimedOut) };
        let asked = self.store.questions(task.id()).await?;
        let open = asked.iter().any(|one| one.number == number && one.closed.is_none());
        Ok(if open { WaitEnd::NeedsInput } else { WaitEnd::TimedOut })
    }

    /// Resolves when the record is as wanted. Listens before it looks, so that
    /// no change is missed.
    pub(crate) async fn until(
        self: &Arc<Self>,
        spec: &Arc<Spec>,
        wanted: impl Fn(&Task) -> bool,
    ) -> Result<Task, Error> {
        loop {
            let cell = self.cell_of(spec);
            let changed = cell.changed().listen();
            let Some(task) = self.task(spec.id).await? else {
                self.forget_passive(spec.id);
                return Err(Error::not_found(spec.id));
            };
            if wanted(&task) {
                if !task.is_live() {
                    self.forget_passive(spec.id);
                }
                return Ok(task);
            }
            changed.await;
        }
    }

    async fn look(&self, specs: &[Arc<Spec>]) -> Result<Vec<(Task, WaitEnd)>, Error> {
        let mut found = Vec::with_capacity(specs.len());
        for spec in specs {
            let task = self.task(spec.id).await?;
            let task = task.ok_or_else(|| Error::not_found(spec.id))?;
            let end = self.end_of(&task).await?;
            found.push((task, end));
        }
        Ok(found)
    }

    async fn waited(self: &Arc<Self>, tasks: Vec<(Task, WaitEnd)>) -> Result<Vec<Waited>, Error> {
        let mut found = Vec::with_capacity(tasks.len());
        for (task, end) in tasks {
            let pending = match end {
                WaitEnd::Ended => self.store.result_row(task.id()).await?,
                _ => None,
            };
            let owner = pending.as_ref().map_or(task.owner(), |pending| pending.row.owner);
            let row = pending.map(|pending| pending.reference());
            found.push(Waited { task, end, row, owner, engine: self.clone() });
        }
        Ok(found)
    }
}

fn is_enough(found: &[(Task, WaitEnd)], want: Want) -> bool {
    let mut ends = found.iter().map(|(_, end)| *end);
    if ends.clone().any(|end| end == WaitEnd::NeedsInput) || found.is_empty() {
        return true;
    }
    match want {
        Want::Any => ends.any(|end| end == WaitEnd::Ended),
        Want::All => ends.all(|end| end == WaitEnd::Ended),
    }
}

impl Waited {
    /// Whether the task has ended.
    pub fn is_ended(&self) -> bool {
        self.end == WaitEnd::Ended
    }

    /// How the task ended, if it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.task.ended()
    }

    /// The value of a task that completed, if it is in the record; an error
    /// that says how it stands or ended otherwise. [`Waited::load`] also reads
    /// values that are too large for a record.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(self.value()?.decode()?)
    }

    /// The value of a task that completed, wherever it is kept.
    pub async fn load<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.engine.load(self.value()?).await
    }

    fn value(&self) -> Result<&offshoot_core::Payload, Error> {
        match self.task.ended() {
            Some(Outcome::Completed { value, .. }) => Ok(value),
            Some(_) => Err(self.not_completed(offshoot_core::digest(&self.task, 512))),
            None => Err(self.not_completed(format!("it is {}", self.task.state))),
        }
    }

    fn not_completed(&self, detail: String) -> Error {
        Error::NotCompleted { handle: self.task.handle().to_owned(), detail }
    }

    /// Acknowledges the row that tells of the end, so that it is not drained.
    /// Acknowledging twice changes nothing.
    pub async fn ack(&self) -> Result<(), Error> {
        let Some(row) = self.row else { return Ok(()) };
        self.engine.check_open()?;
        let ack = Ack { owner: self.owner, rows: vec![row], strictness: Strictness::MayBeGone };
        let batch = Batch::new(self.engine.now()).write(Write::Ack(ack));
        self.engine.store.commit(batch).await.map_err(Error::from_commit)?;
        Ok(())
    }
}
