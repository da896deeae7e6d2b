//! Waits for tasks: woken by the end itself, without polling.

mod result;
mod watcher;

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use offshoot_core::{Spec, Task, TaskId, WaitingOn};

pub use self::result::WaitResult;
pub(crate) use self::watcher::TaskWatcher;
use crate::access;
use crate::engine::handle::{Context, TaskRef, Viewer};
use crate::engine::live_task::LiveTask;
use crate::engine::{Engine, ambient};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::suspend::{Suspension, suspend};

/// A wait for one task. Await it; dropping it changes nothing.
///
/// A body that awaits it gives its slot back meanwhile, and a cancel of the
/// body ends the wait. This holds for the body's own future. A future that the
/// body hands to `tokio::spawn` or to a thread waits like any other caller.
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
    /// Tasks of references that belong to other callers.
    foreign: Vec<TaskId>,
    mode: WaitMode,
    timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitMode {
    Any,
    All,
}

/// The moment at which a wait returns at the latest.
#[derive(Clone, Copy)]
struct Deadline(Option<(Duration, Duration)>);

impl Deadline {
    fn new(engine: &Engine, timeout: Option<Duration>) -> Self {
        Self(timeout.map(|timeout| (engine.world.monotonic(), timeout)))
    }

    /// The remaining time, if it is limited.
    fn remaining(self, engine: &Engine) -> Option<Duration> {
        let (began, timeout) = self.0?;
        Some(timeout.saturating_sub(engine.world.monotonic().saturating_sub(began)))
    }
}

/// Why a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The task has ended.
    Ended,
    /// The task has an open question.
    NeedsInput,
    /// The timeout is over. The record is current.
    TimedOut,
}

impl Wait {
    pub(crate) fn new(task: TaskRef) -> Self {
        Self { task, timeout: None }
    }

    /// Returns after `timeout` at the latest, with a current record. Zero checks
    /// the task and does not wait.
    ///
    /// A body goes on after the timeout even if no slot is free. Until it has
    /// one its record says that it waits, and it counts for no cap.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl IntoFuture for Wait {
    type Output = Result<WaitResult, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let TaskRef { engine, spec, viewer } = self.task;
        Box::pin(async move {
            let (task, end) = wait_one(&engine, &spec, self.timeout).await?;
            Ok(WaitResult::new(engine, viewer, task, end))
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
                foreign.push(task.spec.id);
            }
        }
        Self { engine, viewer, specs, foreign, mode: WaitMode::All, timeout: None }
    }

    /// Returns as soon as one of the tasks has ended or needs input. Without
    /// this the wait returns once all have ended, or one needs input.
    pub fn any(mut self) -> Self {
        self.mode = WaitMode::Any;
        self
    }

    /// Returns after `timeout` at the latest, with current records; see
    /// [`Wait::timeout`].
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl IntoFuture for WaitMany {
    type Output = Result<Vec<WaitResult>, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { engine, viewer, specs, foreign, mode, timeout } = self;
        Box::pin(async move {
            // A reference alone gives no access: the caller, or the body inside
            // which it waits, must have access itself.
            let waiter = surrounding_body(&engine);
            for task in foreign {
                if let Err(error) = access::touchable(&engine, &viewer, task).await {
                    let waiter = waiter.as_ref().ok_or(error)?;
                    access::touchable(&engine, &Viewer::task(waiter.clone()), task).await?;
                }
            }
            let found = wait_many(&engine, specs, mode, timeout).await?;
            let result = |(task, end)| WaitResult::new(engine.clone(), viewer.clone(), task, end);
            Ok(found.into_iter().map(result).collect())
        })
    }
}

async fn wait_one(
    engine: &Arc<Engine>,
    spec: &Arc<Spec>,
    timeout: Option<Duration>,
) -> Result<(Task, WaitEnd), Error> {
    let deadline = Deadline::new(engine, timeout);
    let waiter = surrounding_body(engine);
    let mut watcher = TaskWatcher::for_wait(engine, waiter.as_ref(), spec);
    let (task, end) = watcher.check(engine).await?;
    if end != WaitEnd::TimedOut || timeout == Some(Duration::ZERO) {
        return Ok((task, end));
    }
    check_not_itself(waiter.as_ref(), std::slice::from_ref(spec))?;
    let suspension = suspend_waiter(engine, waiter.as_ref()).await?;
    let end = watcher.wait_for_end(engine);
    let found = match bounded(engine, waiter.as_ref(), deadline.remaining(engine), end).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => watcher.check(engine).await,
        Err(error) => Err(error),
    };
    if let Some(suspension) = suspension {
        suspension.end_within(deadline.remaining(engine)).await?;
    }
    found
}

async fn wait_many(
    engine: &Arc<Engine>,
    specs: Vec<Arc<Spec>>,
    mode: WaitMode,
    timeout: Option<Duration>,
) -> Result<Vec<(Task, WaitEnd)>, Error> {
    engine.check_open()?;
    let deadline = Deadline::new(engine, timeout);
    let waiter = surrounding_body(engine);
    let watch = |spec| TaskWatcher::for_wait(engine, waiter.as_ref(), spec);
    let mut watchers: Vec<_> = specs.iter().map(watch).collect();
    let found = check_all(engine, &mut watchers).await?;
    if is_enough(&found, mode) || timeout == Some(Duration::ZERO) {
        return Ok(found);
    }
    check_not_itself(waiter.as_ref(), &specs)?;
    let suspension = suspend_waiter(engine, waiter.as_ref()).await?;
    let found = loop {
        let enough = until_enough(engine, &mut watchers, mode);
        let found = match bounded(engine, waiter.as_ref(), deadline.remaining(engine), enough).await
        {
            Ok(_) => check_all(engine, &mut watchers).await,
            Err(error) => Err(error),
        };
        // A question may have been answered since; then the wait goes on.
        let over = deadline.remaining(engine) == Some(Duration::ZERO);
        match found {
            Ok(found) if !over && !is_enough(&found, mode) => {}
            found => break found,
        }
    };
    if let Some(suspension) = suspension {
        suspension.end_within(deadline.remaining(engine)).await?;
    }
    found
}

/// The body of this runtime whose future is polled around this call. Only such
/// a wait suspends the body: a reference may be handed to other futures.
fn surrounding_body(engine: &Arc<Engine>) -> Option<Arc<LiveTask>> {
    let ours = |cx: &Context| Arc::ptr_eq(&cx.engine, engine).then(|| cx.live.clone());
    ambient::with(ours).flatten()
}

async fn suspend_waiter(
    engine: &Arc<Engine>,
    waiter: Option<&Arc<LiveTask>>,
) -> Result<Option<Suspension>, Error> {
    match waiter {
        Some(live) => Ok(Some(suspend(engine, live, WaitingOn::Children).await?)),
        None => Ok(None),
    }
}

/// The value of `wait`, or `None` after `timeout`. Returns
/// [`Error::Cancelled`] if the waiting body is cancelled first.
async fn bounded<T>(
    engine: &Engine,
    waiter: Option<&Arc<LiveTask>>,
    timeout: Option<Duration>,
    wait: impl Future<Output = Result<T, Error>>,
) -> Result<Option<T>, Error> {
    if waiter.is_none() && timeout.is_none() {
        return wait.await.map(Some);
    }
    let cancelled = async {
        match waiter {
            Some(live) => live.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let over = async {
        match timeout {
            Some(timeout) => engine.world.sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let (cancelled, over) = (pin!(cancelled), pin!(over));
    match select(pin!(wait), select(cancelled, over)).await {
        Either::Left((found, _)) => found.map(Some),
        Either::Right((Either::Left(_), _)) => Err(Error::Cancelled),
        Either::Right((Either::Right(_), _)) => Ok(None),
    }
}

/// Resolves when enough tasks have ended, or one needs input.
async fn until_enough(
    engine: &Engine,
    watchers: &mut [TaskWatcher],
    mode: WaitMode,
) -> Result<(), Error> {
    let mut pending: FuturesUnordered<_> =
        watchers.iter_mut().map(|watcher| watcher.wait_for_end(engine)).collect();
    while let Some(found) = pending.next().await {
        let (_, end) = found?;
        if mode == WaitMode::Any || end == WaitEnd::NeedsInput {
            break;
        }
    }
    Ok(())
}

async fn check_all(
    engine: &Engine,
    watchers: &mut [TaskWatcher],
) -> Result<Vec<(Task, WaitEnd)>, Error> {
    let mut found = Vec::with_capacity(watchers.len());
    for watcher in watchers {
        found.push(watcher.check(engine).await?);
    }
    Ok(found)
}

/// Refuses a wait of a body for its own task.
fn check_not_itself(waiter: Option<&Arc<LiveTask>>, tasks: &[Arc<Spec>]) -> Result<(), Error> {
    match waiter {
        Some(live) if tasks.iter().any(|spec| spec.id == live.id()) => {
            Err(Error::WaitsForItself(live.id()))
        }
        _ => Ok(()),
    }
}

fn is_enough(found: &[(Task, WaitEnd)], mode: WaitMode) -> bool {
    let mut ends = found.iter().map(|(_, end)| *end);
    if ends.clone().any(|end| end == WaitEnd::NeedsInput) || found.is_empty() {
        return true;
    }
    match mode {
        WaitMode::Any => ends.any(|end| end == WaitEnd::Ended),
        WaitMode::All => ends.all(|end| end == WaitEnd::Ended),
    }
}
