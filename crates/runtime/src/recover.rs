//! Recovery: when the runtime opens, every task of an earlier process is
//! resumed, restarted or ended once.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use offshoot_core::{
    Failure, FailureKind, Intent, Recovery, RequeueReason, Task, TaskState, crashes_after_death,
};
use offshoot_store::{Order, PageCursor, TaskQuery, TaskScope};

use crate::attempt;
use crate::cancel;
use crate::engine::Engine;
use crate::engine::backend::{Backend, ReconcileResult};
use crate::engine::kind::BackendBody;
use crate::engine::live_task::Eviction;
use crate::error::Error;
use crate::panic;
use crate::removal;
use crate::settle::{self, BodyEnd};

/// The number of tasks recovered concurrently.
const BATCH: usize = 512;

/// The progress of recovery. It is kept when a write fails, because the tasks
/// recovered so far look like this process's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RecoveryScan {
    /// The end of the scan is not known yet.
    Unbounded,
    /// Everything up to `after` is recovered. Tasks are listed in the order of
    /// their spawns, and only those of this process come after `newest`; without
    /// it the first page holds all others.
    Bounded { after: Option<PageCursor>, newest: Option<PageCursor> },
    /// Everything is recovered.
    Done,
}

impl RecoveryScan {
    /// A scan of the tasks that are in the store now. Tasks that are spawned
    /// after this has returned are not part of it.
    pub(crate) async fn new(engine: &Engine) -> Result<Self, Error> {
        let mut newest = TaskQuery::new(TaskScope::Everything);
        newest.order = Order::NewestFirst;
        newest.limit = 1;
        let page = engine.store.tasks(newest).await?;
        Ok(match page.items.is_empty() {
            true => Self::Done,
            false => Self::Bounded { after: None, newest: page.next },
        })
    }

    /// The query for the next page; `None` once the scan is done.
    async fn next_page(&mut self, engine: &Engine) -> Result<Option<TaskQuery>, Error> {
        if let Self::Unbounded = self {
            *self = Self::new(engine).await?;
        }
        let Self::Bounded { after, .. } = *self else { return Ok(None) };
        let mut query = TaskQuery::new(TaskScope::Everything);
        (query.after, query.limit) = (after, BATCH);
        Ok(Some(query.live()))
    }

    /// Notes that everything before this place is recovered.
    fn advance(&mut self, next: Option<PageCursor>) {
        *self = match (*self, next) {
            (Self::Bounded { newest, .. }, Some(next)) if Some(next) < newest => {
                Self::Bounded { after: Some(next), newest }
            }
            _ => Self::Done,
        };
    }
}

/// Recovers every unfinished task once. Tasks of kinds that are not registered
/// here stay as they are.
pub(crate) async fn recover(engine: Arc<Engine>, mut scan: RecoveryScan) {
    let mut tries = 0;
    while !engine.is_closed() {
        match recover_all(&engine, &mut scan).await {
            Ok(()) => break,
            Err(error) => {
                tracing::warn!(%error, "recovery could not go on yet");
                engine.back_off(tries).await;
                tries += 1;
            }
        }
    }
    engine.recovered.send_replace(true);
}

async fn recover_all(engine: &Arc<Engine>, scan: &mut RecoveryScan) -> Result<(), Error> {
    while let Some(query) = scan.next_page(engine).await? {
        let mut page = engine.store.tasks(query.clone()).await?;
        if resume_cascades(engine, &page.items).await? > 0 {
            page = engine.store.tasks(query).await?;
        }
        let mut recovering: FuturesUnordered<_> =
            page.items.into_iter().map(|task| recover_task(engine, task)).collect();
        // A failure does not stop the others: their commits may be written, and
        // then have to be followed up.
        let mut failed = None;
        while let Some(recovered) = recovering.next().await {
            failed = failed.or(recovered.err());
        }
        if let Some(error) = failed {
            return Err(error);
        }
        scan.advance(page.next);
        engine.yield_now().await;
    }
    resume_sessions(engine).await
}

/// Finishes the cascades that a crash interrupted, before the tasks that they
/// reach are recovered. Returns how many there were.
async fn resume_cascades(engine: &Arc<Engine>, tasks: &[Task]) -> Result<usize, Error> {
    let mut resumed = 0;
    for task in tasks.iter().filter(|task| engine.is_sole_worker() || engine.executes(task)) {
        if let Some(cancel) = &task.cancel {
            cancel::cascade_fully(engine, task.id(), cancel).await?;
            resumed += 1;
        }
    }
    Ok(resumed)
}

/// Finishes the sweeps and removals that a crash interrupted.
async fn resume_sessions(engine: &Arc<Engine>) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = engine.store.sessions(after, BATCH).await?;
        for session in page.items {
            if session.is_removing() {
                removal::finish_removal(engine, session.id).await?;
            }
            for sweep in &session.sweeps {
                cancel::finish_sweep(engine, session.id, sweep).await?;
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

async fn recover_task(engine: &Arc<Engine>, mut task: Task) -> Result<(), Error> {
    loop {
        match recover_record(engine, &task).await {
            // The record has changed, perhaps by the cancel of an ancestor.
            Err(Error::Contended) => match engine.store.task(task.id()).await? {
                Some(next) if next.is_live() => task = next,
                _ => return Ok(()),
            },
            recovered => return recovered,
        }
    }
}

async fn recover_record(engine: &Arc<Engine>, task: &Task) -> Result<(), Error> {
    // This process may have spawned the task during recovery.
    let ours = engine.live_task(task.id()).is_some_and(|live| live.is_active());
    if task.lease.worker == Some(engine.worker) || ours {
        return Ok(());
    }
    if !engine.executes(task) {
        // It stays as it is, unless it was cancelled and no other worker can
        // end it.
        let idle = task.state == TaskState::Queued || engine.is_orphaned(task);
        return match &task.cancel {
            Some(_) if idle => cancel::end(engine, task, BodyEnd::Evicted(Eviction::Abort)).await,
            _ => Ok(()),
        };
    }
    let id = task.id();
    if task.is_held() {
        return recover_held(engine, task).await;
    }
    let backend = engine.kinds.get(&task.spec.kind).cloned();
    let found = match &backend {
        Some(backend) if task.state != TaskState::Queued => reconcile(&**backend, task).await,
        _ => ReconcileResult::ByPolicy,
    };
    match found {
        ReconcileResult::Ended(ended) => {
            return cancel::end(engine, task, BodyEnd::Returned(ended)).await;
        }
        _ if task.cancel.is_some() => {
            return cancel::end(engine, task, BodyEnd::Evicted(Eviction::Abort)).await;
        }
        ReconcileResult::Lost(reason) => {
            return cancel::end(engine, task, BodyEnd::Lost(reason)).await;
        }
        ReconcileResult::ByPolicy => {}
    }
    let Some(backend) = backend else { return cancel::end(engine, task, lost()).await };
    if task.state == TaskState::Queued {
        return enqueue(engine, task, backend).await;
    }
    if task.spec.recovery == Recovery::Lose {
        return cancel::end(engine, task, lost()).await;
    }
    let crashes = crashes_after_death(task);
    if crashes >= engine.config.restarts.max_attempts {
        let failure = Failure::new(
            FailureKind::CrashLoop,
            format!(
                "{crashes} attempts in a row ended without a result and got no further than \
                 the one before: the runtime stopped each time"
            ),
        );
        return cancel::end(engine, task, BodyEnd::Failed(failure)).await;
    }
    let requeued = engine
        .change(
            id,
            |now, _| {
                if now.seq != task.seq {
                    return Err(Error::Contended);
                }
                Ok(Intent::Requeue(RequeueReason::Crashed))
            },
            |_, batch| batch,
        )
        .await;
    match requeued {
        Ok(task) => enqueue(engine, &task, backend).await,
        Err(Error::LeaseLost(_) | Error::Ended { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Recovers a task whose body has returned and that waits for its children. If
/// the task has failed, they are cancelled.
async fn recover_held(engine: &Arc<Engine>, task: &Task) -> Result<(), Error> {
    if let Some(cancel) = settle::orphan_cancel(engine, task, engine.now()) {
        cancel::cascade_fully(engine, task.id(), &cancel).await?;
    }
    Ok(())
}

/// Queues a task; after a crash it starts with a delay.
async fn enqueue(
    engine: &Arc<Engine>,
    task: &Task,
    backend: Arc<dyn Backend>,
) -> Result<(), Error> {
    // A waiter may have made a passive entry already.
    let live = engine.live_task_or_passive(&task.spec);
    live.activate();
    // An earlier process received its messages, so their senders are not known.
    live.note_foreign_message();
    let lacks = panic::shield_or("lacks", None, || backend.lacks(task)).is_some();
    let ready = lacks.then(|| backend.ready(task));
    let body = BackendBody(Some(backend));
    if task.crashes == 0 && ready.is_none() {
        attempt::queue(engine, live, body);
        return Ok(());
    }
    let (weak, delay) = (Arc::downgrade(engine), engine.config.restarts.delay(task.crashes));
    let delay = (task.crashes > 0).then_some(delay);
    let world = engine.world.clone();
    engine.world.spawn(async move {
        if let Some(delay) = delay {
            world.sleep(delay).await;
        }
        if let Some(ready) = ready {
            ready.await;
        }
        if let Some(engine) = weak.upgrade().filter(|engine| !engine.is_closed()) {
            attempt::queue(&engine, live, body);
        }
    });
    Ok(())
}

/// The finding of the backend about a task. A backend that panics finds nothing.
async fn reconcile(backend: &dyn Backend, task: &Task) -> ReconcileResult {
    let found = AssertUnwindSafe(async { backend.reconcile(task).await });
    found.catch_unwind().await.unwrap_or_else(|_| {
        tracing::warn!(task = %task.id(), "a backend panicked when it was asked to reconcile");
        ReconcileResult::ByPolicy
    })
}

fn lost() -> BodyEnd {
    BodyEnd::Lost("runtime stopped while running".into())
}
