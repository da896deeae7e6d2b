//! The way of a cancel request from a task down to its last descendant.

use std::sync::Arc;

use futures_util::future::join_all;
use offshoot_core::{Cancel, Intent, Owner, Task, TaskId, TaskState, decide};
use offshoot_store::{Batch, CommitError, Conflict, StoreError, TaskQuery, TaskScope, Write};
use tokio::sync::oneshot;

use super::end::{end, end_unstarted};
use super::grace::enforce_grace;
use crate::engine::live_task::{Eviction, LiveTask};
use crate::engine::{Engine, seat};
use crate::error::Error;
use crate::panic;
use crate::settle::BodyEnd;

/// The number of records that one batch of a cascade changes.
pub(super) const BATCH: usize = 256;

/// A live task that a cancel request has reached.
pub(super) struct ReachedTask {
    pub(super) id: TaskId,
    request: RequestAge,
    pub(super) live: Option<Arc<LiveTask>>,
}

/// Whether a task was cancelled by this request or an earlier one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestAge {
    New,
    Earlier,
}

impl RequestAge {
    fn of(task: &Task, cancel: &Arc<Cancel>) -> Self {
        if task.cancel.as_ref() == Some(cancel) { Self::New } else { Self::Earlier }
    }
}

impl ReachedTask {
    /// Whether this request is the first one to cancel the task.
    pub(super) fn is_new(&self) -> bool {
        self.request == RequestAge::New
    }
}

/// Cancels a task and its descendants and returns how many live ones it
/// reached. It goes on to its end even if the caller drops this future.
pub(super) async fn cancel_tree(
    engine: &Arc<Engine>,
    target: Task,
    cancel: Arc<Cancel>,
) -> Result<usize, Error> {
    let (sender, receiver) = oneshot::channel();
    let runner = engine.clone();
    engine.world.spawn(async move {
        let id = target.id();
        let root = match mark_one(&runner, id, &cancel).await {
            Ok(root) => root,
            Err(error) => return drop(sender.send(Err(error))),
        };
        let newly = usize::from(root.is_new());
        enforce_grace(&runner, vec![root], cancel.grace, None);
        let below = cascade_fully(&runner, id, &cancel).await;
        drop(sender.send(below.map(|below| newly + below)));
    });
    receiver.await.unwrap_or(Err(Error::Closed))
}

/// Cascades below `id` in a task of the executor.
pub(super) fn cascade_later(engine: &Arc<Engine>, id: TaskId, cancel: Arc<Cancel>) {
    let runner = engine.clone();
    engine.world.spawn(async move {
        if let Err(error) = cascade_fully(&runner, id, &cancel).await {
            tracing::debug!(task = %id, %error, "a cascade is left to the next runtime");
        }
    });
}

/// Carries a durable request down to the last descendant, however often the
/// store fails, and returns how many tasks it reached.
pub(crate) async fn cascade_fully(
    engine: &Arc<Engine>,
    id: TaskId,
    cancel: &Arc<Cancel>,
) -> Result<usize, Error> {
    let (mut count, mut tries) = (0, 0);
    loop {
        let mut reached = Vec::new();
        let cascaded = cascade(engine, id, cancel, &mut reached).await;
        count += reached.iter().filter(|reached| reached.is_new()).count();
        enforce_grace(engine, reached, cancel.grace, Some(id));
        match cascaded {
            Err(Error::Store(_) | Error::Contended) if !engine.is_closed() => {
                engine.back_off(tries).await;
                tries = tries.saturating_add(1);
            }
            cascaded => return cascaded.map(|()| count),
        }
    }
}

/// Marks one task as cancelled, unless an earlier request has.
async fn mark_one(
    engine: &Arc<Engine>,
    id: TaskId,
    cancel: &Arc<Cancel>,
) -> Result<ReachedTask, Error> {
    let request = |task: &Task, _| {
        if task.is_live() && task.cancel.is_some() {
            return Err(Error::Cancelled);
        }
        Ok(Intent::Cancel(cancel.clone()))
    };
    let (mut tries, mut unknown) = (0, false);
    let task = loop {
        let marked = match engine.change(id, request, |_, batch| batch).await {
            Err(Error::Cancelled) => engine.task(id).await,
            marked => marked.map(Some),
        };
        match marked {
            Ok(task) => break task.ok_or_else(|| Error::not_found(id))?,
            // The request may be in the record, and then it is to be acted on.
            Err(Error::Store(error))
                if (unknown || matches!(error, StoreError::Unknown(_))) && !engine.is_closed() =>
            {
                unknown = true;
                engine.back_off(tries).await;
                tries = tries.saturating_add(1);
            }
            Err(error) => return Err(error),
        }
    };
    let request = RequestAge::of(&task, cancel);
    Ok(stop(engine, &task, request).await)
}

/// Marks all live descendants of `root` as cancelled, owners before what they
/// own.
pub(super) async fn cascade(
    engine: &Arc<Engine>,
    root: TaskId,
    cancel: &Arc<Cancel>,
    reached: &mut Vec<ReachedTask>,
) -> Result<(), Error> {
    let mut owners = vec![root];
    while let Some(parent) = owners.pop() {
        let parent = Owner::Task(parent);
        // Most tasks own nothing, and counting costs less than listing.
        if engine.store.counts(parent).await?.live() == 0 {
            continue;
        }
        let mut query = TaskQuery::new(TaskScope::Owner(parent)).live();
        query.limit = BATCH;
        loop {
            let page = engine.store.tasks(query.clone()).await?;
            let first = reached.len();
            mark_all(engine, &page.items, cancel, reached).await?;
            owners.extend(reached[first..].iter().map(|reached| reached.id));
            if page.next.is_none() {
                break;
            }
            query.after = page.next;
            engine.yield_now().await;
        }
    }
    Ok(())
}

/// Marks several tasks as cancelled in one commit, or one by one if they change
/// meanwhile.
pub(super) async fn mark_all(
    engine: &Arc<Engine>,
    tasks: &[Task],
    cancel: &Arc<Cancel>,
    reached: &mut Vec<ReachedTask>,
) -> Result<(), Error> {
    let now = engine.now();
    let mut batch = Batch::new(now);
    batch.writes.reserve(tasks.len());
    let mut marked = Vec::with_capacity(tasks.len());
    for task in tasks {
        if let Ok(decided) = decide(task, Intent::Cancel(cancel.clone()), now) {
            marked.push(decided.task.clone());
            batch.push(Write::Put(decided.task, decided.change));
        }
    }
    // An earlier request may not have been acted on, and may not have reached
    // what is below.
    for task in tasks.iter().filter(|task| task.cancel.is_some()) {
        let request = RequestAge::of(task, cancel);
        reached.push(stop(engine, task, request).await);
    }
    if marked.is_empty() {
        return Ok(());
    }
    match engine.store.commit(batch).await {
        Ok(_) => {
            // A task that is not executed ends by a commit of its own. These
            // commits are made concurrently, so that the store can join them.
            let (idle, executed): (Vec<_>, Vec<_>) = marked
                .iter()
                .partition(|task| task.state == TaskState::Queued || engine.is_orphaned(task));
            reached.extend(
                executed.into_iter().map(|task| notify_body(engine, task, RequestAge::New)),
            );
            let idle = idle.into_iter().map(|task| stop(engine, task, RequestAge::New));
            reached.extend(join_all(idle).await);
        }
        Err(CommitError::Conflict(Conflict::Stale(_) | Conflict::NoTask(_))) => {
            let marked = marked.iter().map(|task| mark_one(engine, task.id(), cancel));
            for marked in join_all(marked).await {
                match marked {
                    Ok(task) => reached.push(task),
                    // It has ended meanwhile, and so has what was below it.
                    Err(Error::Ended { .. } | Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Err(error) => return Err(Error::from_commit(error)),
    }
    Ok(())
}

/// Acts on a durable request: notifies the body, or ends a task that is not
/// executed.
async fn stop(engine: &Arc<Engine>, task: &Task, request: RequestAge) -> ReachedTask {
    let id = task.id();
    if task.state == TaskState::Queued {
        engine.slots.withdraw(id, seat(&task.spec));
        if end_unstarted(engine, id).await {
            return ReachedTask { id, request, live: None };
        }
    } else if engine.is_orphaned(task) {
        let ended = end(engine, task, BodyEnd::Evicted(Eviction::Abort)).await;
        if let Err(error) = ended {
            tracing::debug!(task = %id, %error, "a cancel is left to the next runtime");
        }
    }
    notify_body(engine, task, request)
}

fn notify_body(engine: &Engine, task: &Task, request: RequestAge) -> ReachedTask {
    let id = task.id();
    let live = engine.live_task(id);
    if let Some(live) = &live {
        live.cancel();
        // Most tasks are closures, which have no backend.
        if !Arc::ptr_eq(&task.spec.kind, &engine.closure_kind)
            && let Some(backend) = engine.kinds.get(&task.spec.kind)
        {
            panic::shield("cancel", || backend.cancel(task));
        }
    }
    ReachedTask { id, request, live }
}
