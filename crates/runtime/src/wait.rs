//! Waiting for tasks: woken by the end itself, never by a look at the clock.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use offshoot_core::{Caller, Outcome, Owner, Spec, Task, TaskId, WaitingOn};
use offshoot_store::{
    Ack, Batch, CommitError, Conflict, Fence, Pending, RowRef, Strictness, Write,
};
use serde::de::DeserializeOwned;

use crate::ambient;
use crate::cell::Cell;
use crate::context::Context;
use crate::engine::Engine;
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::lookout::Lookout;
use crate::park::Parked;
use crate::task_ref::{TaskRef, Viewer};

/// A wait for one task. Await it; dropping it changes nothing.
///
/// A body that awaits it waits: it gives its slot back meanwhile, and a request
/// to stop it ends the wait. That goes for the body's own future. What it hands
/// to `tokio::spawn` or to a thread waits like anybody outside, whoever made
/// the reference.
#[must_use = "a wait does nothing until it is awaited"]
#[derive(Debug)]
pub struct Wait {
    task: TaskRef,
    timeout: Option<Duration>,
}

/// A wait for several tasks. Await it; dropping it changes nothing. A body that
/// awaits it waits as with [`Wait`].
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

/// When a wait returns at the latest.
#[derive(Clone, Copy)]
struct Limit(Option<(Duration, Duration)>);

impl Limit {
    fn new(engine: &Engine, timeout: Option<Duration>) -> Self {
        Self(timeout.map(|timeout| (engine.world.monotonic(), timeout)))
    }

    /// How much time is left, if it is limited.
    fn left(self, engine: &Engine) -> Option<Duration> {
        let (began, timeout) = self.0?;
        Some(timeout.saturating_sub(engine.world.monotonic().saturating_sub(began)))
    }
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
    engine: Arc<Engine>,
    viewer: Viewer,
    /// The attempt of the body that waited, if one did.
    epoch: Option<u32>,
}

impl Wait {
    pub(crate) fn new(task: TaskRef) -> Self {
        Self { task, timeout: None }
    }

    /// Returns after `timeout` at the latest, with a fresh record. Zero looks
    /// and does not wait.
    ///
    /// A body goes on then even if no slot is free. Until it has one again its
    /// record says that it waits, and it counts for no cap.
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
            let (task, end) = engine.wait(&spec, self.timeout).await?;
            Ok(Waited::new(engine, viewer, task, end))
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

    /// Returns after `timeout` at the latest, with fresh records; see
    /// [`Wait::timeout`].
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
            // A reference is no pass: the caller itself must be in scope, or
            // the body inside which it waits.
            let around = engine.body_around();
            for task in foreign {
                if let Err(error) = engine.touchable(&viewer, task).await {
                    let around = around.as_ref().ok_or(error)?;
                    engine.touchable(&Viewer::task(around.clone()), task).await?;
                }
            }
            let found = engine.wait_many(specs, want, timeout).await?;
            let waited = |(task, end)| Waited::new(engine.clone(), viewer.clone(), task, end);
            Ok(found.into_iter().map(waited).collect())
        })
    }
}

impl Engine {
    async fn wait(
        self: &Arc<Self>,
        spec: &Arc<Spec>,
        timeout: Option<Duration>,
    ) -> Result<(Task, WaitEnd), Error> {
        let limit = Limit::new(self, timeout);
        let waiter = self.body_around();
        let mut lookout = self.look_out_from(waiter.as_ref(), spec);
        let (task, end) = self.look(&mut lookout).await?;
        if end != WaitEnd::TimedOut || timeout == Some(Duration::ZERO) {
            return Ok((task, end));
        }
        check_not_itself(waiter.as_ref(), std::slice::from_ref(spec))?;
        let parked = self.park_waiter(waiter.as_ref()).await?;
        let rest = self.until_rest(&mut lookout);
        let found = match self.bounded(waiter.as_ref(), limit.left(self), rest).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => self.look(&mut lookout).await,
            Err(error) => Err(error),
        };
        if let Some(parked) = parked {
            parked.end_within(limit.left(self)).await?;
        }
        found
    }

    async fn wait_many(
        self: &Arc<Self>,
        specs: Vec<Arc<Spec>>,
        want: Want,
        timeout: Option<Duration>,
    ) -> Result<Vec<(Task, WaitEnd)>, Error> {
        self.check_open()?;
        let limit = Limit::new(self, timeout);
        let waiter = self.body_around();
        let look_out = |spec| self.look_out_from(waiter.as_ref(), spec);
        let mut lookouts: Vec<_> = specs.iter().map(look_out).collect();
        let found = self.look_at_all(&mut lookouts).await?;
        if is_enough(&found, want) || timeout == Some(Duration::ZERO) {
            return Ok(found);
        }
        check_not_itself(waiter.as_ref(), &specs)?;
        let parked = self.park_waiter(waiter.as_ref()).await?;
        let found = loop {
            let enough = self.until_enough(&mut lookouts, want);
            let found = match self.bounded(waiter.as_ref(), limit.left(self), enough).await {
                Ok(_) => self.look_at_all(&mut lookouts).await,
                Err(error) => Err(error),
            };
            // Who asked may have been answered since: then there is nothing to
            // tell yet.
            let over = limit.left(self) == Some(Duration::ZERO);
            match found {
                Ok(found) if !over && !is_enough(&found, want) => {}
                found => break found,
            }
        };
        if let Some(parked) = parked {
            parked.end_within(limit.left(self)).await?;
        }
        found
    }

    /// The body that is being polled around this call, if it is one of this
    /// runtime's. Whoever waits inside it makes it wait, and nobody else does:
    /// a reference may be handed on to where that body does not wait.
    fn body_around(self: &Arc<Self>) -> Option<Arc<Cell>> {
        let ours = |cx: &Context| Arc::ptr_eq(cx.engine(), self).then(|| cx.cell().clone());
        ambient::with(ours).flatten()
    }

    async fn park_waiter(
        self: &Arc<Self>,
        waiter: Option<&Arc<Cell>>,
    ) -> Result<Option<Parked>, Error> {
        match waiter {
            Some(cell) => Ok(Some(self.park(cell, WaitingOn::Children).await?)),
            None => Ok(None),
        }
    }

    /// What `rest` comes to, or `None` if that takes longer than `timeout`; an
    /// error if the waiter is cancelled before.
    async fn bounded<T>(
        &self,
        waiter: Option<&Arc<Cell>>,
        timeout: Option<Duration>,
        rest: impl Future<Output = Result<T, Error>>,
    ) -> Result<Option<T>, Error> {
        if waiter.is_none() && timeout.is_none() {
            return rest.await.map(Some);
        }
        let interrupted = async {
            match waiter {
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
        let (interrupted, over) = (pin!(interrupted), pin!(over));
        match select(pin!(rest), select(interrupted, over)).await {
            Either::Left((found, _)) => found.map(Some),
            Either::Right((Either::Left(_), _)) => Err(Error::Cancelled),
            Either::Right((Either::Right(_), _)) => Ok(None),
        }
    }

    /// Resolves when enough tasks have ended or one needs input.
    async fn until_enough(&self, lookouts: &mut [Lookout], want: Want) -> Result<(), Error> {
        let mut pending: FuturesUnordered<_> =
            lookouts.iter_mut().map(|lookout| self.until_rest(lookout)).collect();
        while let Some(found) = pending.next().await {
            let (_, end) = found?;
            if want == Want::Any || end == WaitEnd::NeedsInput {
                break;
            }
        }
        Ok(())
    }

    async fn look_at_all(&self, lookouts: &mut [Lookout]) -> Result<Vec<(Task, WaitEnd)>, Error> {
        let mut found = Vec::with_capacity(lookouts.len());
        for lookout in lookouts {
            found.push(self.look(lookout).await?);
        }
        Ok(found)
    }
}

/// Refuses a wait of a body for its own task.
fn check_not_itself(waiter: Option<&Arc<Cell>>, tasks: &[Arc<Spec>]) -> Result<(), Error> {
    match waiter {
        Some(cell) if tasks.iter().any(|spec| spec.id == cell.id()) => {
            Err(Error::WaitsForItself(cell.id()))
        }
        _ => Ok(()),
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
    fn new(engine: Arc<Engine>, viewer: Viewer, task: Task, end: WaitEnd) -> Self {
        let epoch = viewer.cell.as_ref().map(|cell| cell.epoch());
        Self { task, end, engine, viewer, epoch }
    }

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

    /// The inbox row that tells of the end, as long as it is unread. Its id is
    /// the same however often it is read.
    pub async fn row(&self) -> Result<Option<RowRef>, Error> {
        self.engine.check_open()?;
        Ok(self.unread().await?.map(|pending| pending.reference()))
    }

    async fn unread(&self) -> Result<Option<Pending>, Error> {
        match self.end {
            WaitEnd::Ended => Ok(self.engine.store.result_row(self.task.id()).await?),
            WaitEnd::NeedsInput | WaitEnd::TimedOut => Ok(None),
        }
    }

    /// Acknowledges the row that tells of the end, so that it is not drained.
    /// Whoever keeps the result does it, and only the owner, whose row it is,
    /// or the host may. Acknowledging twice changes nothing.
    pub async fn ack(&self) -> Result<(), Error> {
        self.engine.check_open()?;
        while let Some(pending) = self.unread().await? {
            let owner = pending.row.owner;
            let Viewer { caller, cell, .. } = &self.viewer;
            if *caller != Caller::Host && caller.as_owner() != Some(owner) {
                return Err(Error::Forbidden(self.task.id()));
            }
            let rows = [pending.reference()].into();
            let mut batch = Batch::new(self.engine.now());
            batch.push(Write::Ack(Ack { owner, rows, strictness: Strictness::MustBePending }));
            if let (Owner::Task(task), Some(epoch)) = (owner, self.epoch) {
                batch.fence = Some(Fence { task, epoch });
            }
            match self.engine.store.commit(batch).await {
                // Read, or passed on, meanwhile.
                Err(CommitError::Conflict(Conflict::RowGone(_))) => {}
                Err(error) => return Err(Error::from_commit(error)),
                Ok(_) => {
                    if let Some(cell) = cell {
                        self.engine.advance(cell).await;
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
