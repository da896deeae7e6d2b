//! What the scenarios share: runtimes on stores that behave or do not, bodies
//! that tests hold in their hand, and ways to read what happened.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::expect_used, clippy::unwrap_used)]

pub mod clock;
pub mod trouble;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot::core::{Change, Cursor, Event, Failure, Outcome, State, Task, TaskId};
use offshoot::{BodyError, BoxFuture, Context, Events, Memory, Runtime, Session, TaskRef, Waited};
use tokio_util::sync::CancellationToken;

pub async fn open() -> Runtime {
    open_on(&Memory::new()).await
}

pub async fn open_on(memory: &Memory) -> Runtime {
    Runtime::builder(memory.clone()).open().await.expect("memory opens")
}

pub async fn session() -> (Runtime, Session) {
    let runtime = open().await;
    let session = runtime.session("main").await.expect("a session");
    (runtime, session)
}

/// What bodies wait at until a test opens it. Bodies do not leave it when they
/// are cancelled.
#[derive(Clone, Default)]
pub struct Gate(CancellationToken);

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn open(&self) {
        self.0.cancel();
    }

    pub async fn passed(&self) {
        self.0.cancelled().await;
    }

    /// A body that waits here and returns `value`.
    pub fn then<T: Send + 'static>(
        &self,
        value: T,
    ) -> impl FnOnce(Context) -> BoxFuture<Result<T, BodyError>> + Send + 'static + use<T> {
        let gate = self.clone();
        move |_cx| {
            Box::pin(async move {
                gate.passed().await;
                Ok(value)
            })
        }
    }

    /// A body that says on `started` that it runs, waits here, and returns.
    pub fn after(
        &self,
        started: &Gate,
    ) -> impl FnOnce(Context) -> BoxFuture<Result<(), BodyError>> + Send + 'static + use<> {
        let (gate, started) = (self.clone(), started.clone());
        move |_cx| {
            Box::pin(async move {
                started.open();
                gate.passed().await;
                Ok(())
            })
        }
    }
}

/// A body that returns `value` at once.
pub fn returns<T: Send + 'static>(
    value: T,
) -> impl FnOnce(Context) -> BoxFuture<Result<T, BodyError>> + Send + 'static {
    move |_cx| Box::pin(async move { Ok(value) })
}

/// A body that never ends by itself, cancelled or not.
pub fn never() -> impl FnOnce(Context) -> BoxFuture<Result<(), BodyError>> + Send + 'static {
    |_cx| Box::pin(std::future::pending())
}

/// A body that stops as soon as it is asked to.
pub fn obedient() -> impl FnOnce(Context) -> BoxFuture<Result<(), BodyError>> + Send + 'static {
    |cx| {
        Box::pin(async move {
            cx.cancelled().await;
            Err(BodyError::Cancelled)
        })
    }
}

/// Counts how often bodies were polled for the first time.
#[derive(Clone, Default)]
pub struct Polls(Arc<AtomicUsize>);

impl Polls {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// A body that counts itself and returns.
    pub fn body(
        &self,
    ) -> impl FnOnce(Context) -> BoxFuture<Result<(), BodyError>> + Send + 'static + use<> {
        let polls = self.clone();
        move |_cx| {
            Box::pin(async move {
                polls.0.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
        }
    }
}

/// Waits until the record is as wanted, by watching it.
pub async fn until(task: &TaskRef, wanted: impl Fn(&Task) -> bool) -> Task {
    let mut watch = task.watch();
    loop {
        let found = watch.next().await.expect("ended before it was as wanted").expect("a record");
        if wanted(&found) {
            return found;
        }
    }
}

pub async fn until_state(task: &TaskRef, state: State) -> Task {
    until(task, |task| task.state == state).await
}

pub fn failure(waited: &Waited) -> &Failure {
    match waited.outcome() {
        Some(Outcome::Failed(failure)) => failure,
        other => panic!("not a failure: {other:?}"),
    }
}

/// The events of a session until one is as wanted, that one included.
pub async fn events_until(events: &mut Events, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut seen = Vec::new();
    loop {
        let event = events.next().await.expect("the log goes on");
        let last = wanted(&event);
        seen.push(event);
        if last {
            return seen;
        }
    }
}

/// All events of a session so far: those before one that is made now.
pub async fn events_so_far(session: &Session) -> Vec<Event> {
    let mark = session.spawn_ephemeral(never()).top_level().await.expect("a mark");
    let mut seen =
        events_until(&mut session.events(Cursor::START), |event| event.task == Some(mark.id()))
            .await;
    seen.pop();
    seen
}

pub fn changes_of(events: &[Event], task: TaskId) -> Vec<Change> {
    let of_task = events.iter().filter(|event| event.task == Some(task));
    of_task.map(|event| event.change.clone()).collect()
}

pub async fn all_tasks(runtime: &Runtime) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut list = runtime.tasks();
    loop {
        let page = list.clone().await.expect("a page");
        tasks.extend(page.items);
        match page.next {
            Some(next) => list = runtime.tasks().after(next),
            None => return tasks,
        }
    }
}

/// Polls once, as a caller does that then goes away.
pub fn poll_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}
