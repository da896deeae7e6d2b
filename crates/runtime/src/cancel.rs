//! Cancel: the request is durable on the root before anything else happens,
//! then goes down, owner before owned, in bounded batches.

use std::future::IntoFuture;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use offshoot_core::{Cancel, Intent, Owner, State, Task, TaskId, TooLarge, decide};
use offshoot_store::{Batch, CommitError, Conflict, StoreError, TaskQuery, Within, Write};
use tokio::sync::oneshot;

use crate::cell::{Cell, Eviction};
use crate::engine::{Engine, seat};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::panic;
use crate::settle::Conclusion;
use crate::task_ref::TaskRef;

/// How many records one batch of a cascade changes.
pub(crate) const BATCH: usize = 256;

/// How long an aborted body may take to yield before it counts as
/// unresponsive.
const YIELD_PATIENCE: Duration = Duration::from_secs(1);

/// A cancel about to be asked for. Await it: it resolves with the number of
/// live tasks that it reached, once the request is durable on all of them.
#[must_use = "a cancel does nothing until it is awaited"]
#[derive(Debug)]
pub struct Cancelling {
    task: TaskRef,
    reason: Arc<str>,
    grace: Option<Duration>,
}

impl Cancelling {
    pub(crate) fn new(task: TaskRef, reason: &str) -> Self {
        Self { task, reason: reason.into(), grace: None }
    }

    /// How long bodies may take to stop before they are aborted. Zero aborts
    /// them at once.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }
}

impl IntoFuture for Cancelling {
    type Output = Result<usize, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { task, reason, grace } = self;
            let engine = task.engine;
            engine.check_open()?;
            TooLarge::check("reason", reason.len(), engine.config.sizes.text)?;
            let target = engine.touchable(&task.viewer, task.spec.id).await?;
            let cancel = Arc::new(Cancel {
                by: task.viewer.caller.into(),
                reason,
                at: engine.now(),
                grace: grace.or(target.spec.terms.grace).unwrap_or(engine.config.grace),
            });
            engine.cancel_tree(target, cancel).await
        })
    }
}

impl Engine {
    /// Cancels a task and its descendants; how many live ones it reached. Goes
    /// on to its end even if the caller does not wait for it.
    pub(crate) async fn cancel_tree(
        self: &Arc<Self>,
        target: Task,
        cancel: Arc<Cancel>,
    ) -> Result<usize, Error> {
        let (tell, told) = oneshot::channel();
        let engine = self.clone();
        self.world.spawn(async move {
            let id = target.id();
            let root = match engine.ask_to_stop(id, &cancel).await {
                Ok(root) => root,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let newly = usize::from(root.is_new());
            engine.watch_over(vec![root], cancel.grace, None);
            let below = engine.cascade_fully(id, &cancel).await;
            drop(tell.send(below.map(|below| newly + below)));
        });
        told.await.unwrap_or(Err(Error::Closed))
    }

    /// Continues a cascade below `id` without anybody waiting for it.
    pub(crate) fn cascade_later(self: &Arc<Self>, id: TaskId, cancel: Arc<Cancel>) {
        let engine = self.clone();
        self.world.spawn(async move {
            if let Err(error) = engine.cascade_fully(id, &cancel).await {
                tracing::debug!(task = %id, %error, "a cascade is left to the next runtime");
            }
        });
    }

    /// Carries a durable request down to the last descendant, however often
    /// the store fails on the way; how many it reached.
    pub(crate) async fn cascade_fully(
        self: &Arc<Self>,
        id: TaskId,
        cancel: &Arc<Cancel>,
    ) -> Result<usize, Error> {
        let (mut count, mut tries) = (0, 0);
        loop {
            let mut reached = Vec::new();
            let cascaded = self.cascade(id, cancel, &mut reached).await;
            count += reached.iter().filter(|reach| reach.is_new()).count();
            self.watch_over(reached, cancel.grace, Some(id));
            match cascaded {
                Err(Error::Store(_) | Error::Contended) if !self.is_closed() => {
                    self.back_off(tries).await;
                    tries = tries.saturating_add(1);
                }
                cascaded => return cascaded.map(|()| count),
            }
        }
    }

    /// Marks one task; a request that stands already is left as it is.
    async fn ask_to_stop(
        self: &Arc<Self>,
        id: TaskId,
        cancel: &Arc<Cancel>,
    ) -> Result<Reached, Error> {
        let request = |task: &Task, _| {
            if task.is_live() && task.cancel.is_some() {
                return Err(Error::Cancelled);
            }
            Ok(Intent::Cancel(cancel.clone()))
        };
        let (mut tries, mut unknown) = (0, false);
        let task = loop {
            let asked = match self.change(id, request, |_, batch| batch).await {
                Err(Error::Cancelled) => self.task(id).await,
                asked => asked.map(Some),
            };
            match asked {
                Ok(task) => break task.ok_or_else(|| Error::not_found(id))?,
                // It may stand in the record, and then somebody must act on it.
                Err(Error::Store(error))
                    if (unknown || matches!(error, StoreError::Unknown(_)))
                        && !self.is_closed() =>
                {
                    unknown = true;
                    self.back_off(tries).await;
                    tries = tries.saturating_add(1);
                }
                Err(error) => return Err(error),
            }
        };
        let asked = Asked::of(&task, cancel);
        Ok(self.stop(&task, asked).await)
    }

    /// Marks all live descendants of `root`, owners before what they own.
    pub(crate) async fn cascade(
        self: &Arc<Self>,
        root: TaskId,
        cancel: &Arc<Cancel>,
        reached: &mut Vec<Reached>,
    ) -> Result<(), Error> {
        let mut owners = vec![root];
        while let Some(parent) = owners.pop() {
            let parent = Owner::Task(parent);
            // Most tasks own nothing, and counting costs less than listing.
            if self.store.counts(parent).await?.live() == 0 {
                continue;
            }
            let mut query = TaskQuery::new(Within::Owner(parent)).live();
            query.limit = BATCH;
            loop {
                let page = self.store.tasks(query.clone()).await?;
                let first = reached.len();
                self.ask_all(&page.items, cancel, reached).await?;
                owners.extend(reached[first..].iter().map(|reach| reach.id));
                if page.next.is_none() {
                    break;
                }
                query.after = page.next;
                self.pause().await;
            }
        }
        Ok(())
    }

    /// Marks several tasks in one commit, or one by one if they change
    /// meanwhile.
    pub(crate) async fn ask_all(
        self: &Arc<Self>,
        tasks: &[Task],
        cancel: &Arc<Cancel>,
        reached: &mut Vec<Reached>,
    ) -> Result<(), Error> {
        let now = self.now();
        let mut batch = Batch::new(now);
        batch.writes.reserve(tasks.len());
        let mut asked = Vec::with_capacity(tasks.len());
        for task in tasks {
            if let Ok(decided) = decide(task, Intent::Cancel(cancel.clone()), now) {
                asked.push(decided.task.clone());
                batch.push(Write::Put(decided.task, decided.change));
            }
        }
        // Those asked before are not asked again, but nobody may have acted on
        // it, and what is below them may not have been reached.
        for task in tasks.iter().filter(|task| task.cancel.is_some()) {
            let asked = Asked::of(task, cancel);
            reached.push(self.stop(task, asked).await);
        }
        if asked.is_empty() {
            return Ok(());
        }
        match self.store.commit(batch).await {
            Ok(_) => {
                // What nobody executes ends by a commit of its own; side by
                // side they share the store's.
                let (idle, begun): (Vec<_>, Vec<_>) = asked
                    .iter()
                    .partition(|task| task.state == State::Queued || self.is_left_behind(task));
                reached.extend(begun.into_iter().map(|task| self.tell_to_stop(task, Asked::Newly)));
                let idle = idle.into_iter().map(|task| self.stop(task, Asked::Newly));
                reached.extend(join_all(idle).await);
            }
            Err(CommitError::Conflict(Conflict::Stale(_) | Conflict::NoTask(_))) => {
                let asked = asked.iter().map(|task| self.ask_to_stop(task.id(), cancel));
                for asked in join_all(asked).await {
                    match asked {
                        Ok(reach) => reached.push(reach),
                        // Ended meanwhile: nothing is below it any more.
                        Err(Error::Ended { .. } | Error::NotFound { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(Error::from_commit(error)),
        }
        Ok(())
    }

    /// Acts on a durable request: tells the body, or ends a task without one.
    async fn stop(self: &Arc<Self>, task: &Task, asked: Asked) -> Reached {
        let id = task.id();
        if task.state == State::Queued {
            self.slots.withdraw(id, seat(&task.spec));
            if self.end_unstarted(id).await {
                return Reached { id, asked, cell: None };
            }
        } else if self.is_left_behind(task) {
            let ended = self.end(task, Conclusion::Evicted(Eviction::Abort)).await;
            if let Err(error) = ended {
                tracing::debug!(task = %id, %error, "a cancel is left to the next runtime");
            }
        }
        self.tell_to_stop(task, asked)
    }

    fn tell_to_stop(&self, task: &Task, asked: Asked) -> Reached {
        let id = task.id();
        let cell = self.cell(id);
        if let Some(cell) = &cell {
            cell.cancel();
            // Most tasks are closures, which have no backend to look for.
            if !Arc::ptr_eq(&task.spec.kind, &self.function)
                && let Some(backend) = self.kinds.get(&task.spec.kind)
            {
                panic::shield("cancel", || backend.cancel(task));
            }
        }
        Reached { id, asked, cell }
    }

    /// Ends a task that was asked to stop before it started. Tells whether it
    /// could: somebody may have started it meanwhile.
    pub(crate) async fn end_unstarted(self: &Arc<Self>, id: TaskId) -> bool {
        let never_started = Conclusion::Evicted(Eviction::Abort);
        let cell = self.cell(id);
        for tries in 0.. {
            match self.try_settle(id, None, &never_started).await {
                Err(Error::Contended) => {}
                Err(Error::Store(_)) if !self.is_closed() => self.back_off(tries).await,
                Err(Error::LeaseLost(_)) => return false,
                _ => break,
            }
        }
        // A worker that took this one for dead may have put the task back into
        // the queue while its body runs here, or is about to.
        if let Some(cell) = cell {
            cell.evict(Eviction::Abandon);
        }
        true
    }

    /// Aborts what does not stop in time, and says so of what cannot be
    /// aborted. All of it may be known to stand below one task.
    pub(crate) fn watch_over(
        self: &Arc<Self>,
        reached: Vec<Reached>,
        grace: Duration,
        below: Option<TaskId>,
    ) {
        let cells: Vec<Weak<Cell>> = reached
            .into_iter()
            .filter_map(|reach| reach.cell.as_ref().map(Arc::downgrade))
            .collect();
        if cells.is_empty() {
            return;
        }
        let (engine, world) = (Arc::downgrade(self), self.world.clone());
        let above = below.and_then(|id| self.cell(id)).map(|cell| Arc::downgrade(&cell));
        self.world.spawn(async move {
            let all_gone = async {
                // A task ends no earlier than all below it, so that mostly
                // nobody is left to be waited for after that.
                if let Some(above) = above {
                    gone(above, engine.clone()).await;
                }
                for cell in &cells {
                    gone(cell.clone(), engine.clone()).await;
                }
            };
            // Nothing is kept for the length of a grace that nobody needs.
            select(pin!(all_gone), pin!(world.sleep(grace))).await;
            let left: Vec<_> = still_there(&engine, cells).collect();
            if left.is_empty() {
                return;
            }
            for cell in &left {
                cell.evict(Eviction::Abort);
            }
            let left = left.iter().map(Arc::downgrade).collect();
            world.sleep(YIELD_PATIENCE).await;
            for cell in still_there(&engine, left) {
                if !cell.is_settling() {
                    cell.set_unresponsive();
                }
            }
        });
    }

    /// Drops the body of a task that runs longer than it may.
    pub(crate) fn expire_after(self: &Arc<Self>, cell: &Arc<Cell>, timeout: Duration) {
        let (engine, cell, world) =
            (Arc::downgrade(self), Arc::downgrade(cell), self.world.clone());
        self.world.spawn(async move {
            let (over, gone) =
                (pin!(world.sleep(timeout)), pin!(gone(cell.clone(), engine.clone())));
            if let Either::Left(_) = select(over, gone).await {
                for cell in still_there(&engine, vec![cell]) {
                    cell.evict(Eviction::Expire);
                }
            }
        });
    }

    /// Lets others run between two batches.
    pub(crate) async fn pause(&self) {
        let mut paused = false;
        std::future::poll_fn(|cx| {
            if paused {
                return std::task::Poll::Ready(());
            }
            paused = true;
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    }
}

/// A live task that a cancel has reached.
pub(crate) struct Reached {
    pub(crate) id: TaskId,
    asked: Asked,
    cell: Option<Arc<Cell>>,
}

/// Who has asked a task to stop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// This cancel.
    Newly,
    /// One before it.
    Before,
}

impl Asked {
    fn of(task: &Task, cancel: &Arc<Cancel>) -> Self {
        if task.cancel.as_ref() == Some(cancel) { Self::Newly } else { Self::Before }
    }
}

impl Reached {
    /// Whether this cancel is the first to ask the task to stop.
    pub(crate) fn is_new(&self) -> bool {
        self.asked == Asked::Newly
    }
}

/// Resolves once the task of this cell is no longer here.
async fn gone(cell: Weak<Cell>, engine: Weak<Engine>) {
    let is_here = |cell: &Arc<Cell>| {
        let found = engine.upgrade().and_then(|engine| engine.cell(cell.id()));
        found.is_some_and(|found| Arc::ptr_eq(&found, cell))
    };
    while let Some(cell) = cell.upgrade().filter(is_here) {
        let changed = cell.changed().listen();
        if !is_here(&cell) {
            return;
        }
        changed.await;
    }
}

fn still_there(engine: &Weak<Engine>, cells: Vec<Weak<Cell>>) -> impl Iterator<Item = Arc<Cell>> {
    let engine = engine.upgrade();
    cells.into_iter().filter_map(move |cell| {
        let cell = cell.upgrade()?;
        let here = engine.as_ref()?.cell(cell.spec.id)?;
        Arc::ptr_eq(&here, &cell).then_some(cell)
    })
}
