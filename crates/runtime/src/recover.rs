//! Recovery: what an earlier process left unfinished is resumed, restarted or
//! ended, once, when the runtime opens.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use offshoot_core::{
    Failure, FailureKind, Intent, Recovery, Requeue, State, Task, crashes_after_death,
};
use offshoot_store::{Order, PageCursor, TaskQuery, Within};

use crate::backend::{Backend, Reconciled, Registered};
use crate::birth::queue;
use crate::cell::{Cell, Eviction};
use crate::engine::Engine;
use crate::error::Error;
use crate::settle::Conclusion;

/// How many tasks are judged at the same time.
const BATCH: usize = 512;

/// How far recovery has come. It is kept when a write fails, because what was
/// judged before then looks like this process's own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Round {
    /// Where it ends is not known yet.
    Unbounded,
    /// Everything up to `after` is judged. Tasks are listed as they were
    /// spawned, and behind `newest` stand only those of this process; if it is
    /// absent, the first page holds all others.
    Under { after: Option<PageCursor>, newest: Option<PageCursor> },
    /// Everything is judged.
    Over,
}

impl Round {
    /// Notes that everything before this place is judged.
    fn judged_up_to(&mut self, next: Option<PageCursor>) {
        *self = match (*self, next) {
            (Self::Under { newest, .. }, Some(next)) if Some(next) < newest => {
                Self::Under { after: Some(next), newest }
            }
            _ => Self::Over,
        };
    }
}

impl Engine {
    /// Judges every unfinished task once. Tasks of kinds that nobody has
    /// registered here stay as they are.
    pub(crate) async fn recover(self: Arc<Self>, mut round: Round) {
        let mut tries = 0;
        while !self.is_closed() {
            match self.recover_all(&mut round).await {
                Ok(()) => break,
                Err(error) => {
                    tracing::warn!(%error, "recovery could not go on yet");
                    self.back_off(tries).await;
                    tries += 1;
                }
            }
        }
        self.recovered.send_replace(true);
    }

    /// The round that judges what is here now, and nothing that is spawned
    /// once this has returned.
    pub(crate) async fn round(&self) -> Result<Round, Error> {
        let mut newest = TaskQuery::new(Within::Everything);
        newest.order = Order::NewestFirst;
        newest.limit = 1;
        let page = self.store.tasks(newest).await?;
        Ok(match page.items.is_empty() {
            true => Round::Over,
            false => Round::Under { after: None, newest: page.next },
        })
    }

    /// Goes on with a round where it stands, and ends it.
    async fn recover_all(self: &Arc<Self>, round: &mut Round) -> Result<(), Error> {
        while let Some(query) = self.next_page(round).await? {
            let mut page = self.store.tasks(query.clone()).await?;
            if self.resume_cascades(&page.items).await? > 0 {
                page = self.store.tasks(query).await?;
            }
            let mut judged: FuturesUnordered<_> =
                page.items.into_iter().map(|task| self.judge(task)).collect();
            // One that fails does not stop the others: what they are writing
            // would be written, and nobody told of it.
            let mut failed = None;
            while let Some(judged) = judged.next().await {
                failed = failed.or(judged.err());
            }
            if let Some(error) = failed {
                return Err(error);
            }
            round.judged_up_to(page.next);
            self.pause().await;
        }
        self.resume_sweeps().await
    }

    /// What to judge next; nothing once the round is over.
    async fn next_page(&self, round: &mut Round) -> Result<Option<TaskQuery>, Error> {
        if let Round::Unbounded = round {
            *round = self.round().await?;
        }
        let Round::Under { after, .. } = *round else { return Ok(None) };
        let mut query = TaskQuery::new(Within::Everything);
        (query.after, query.limit) = (after, BATCH);
        Ok(Some(query.live()))
    }

    /// Goes on with the cascades that a crash interrupted, before anybody they
    /// reach is judged; how many there were.
    async fn resume_cascades(self: &Arc<Self>, tasks: &[Task]) -> Result<usize, Error> {
        let mut resumed = 0;
        for task in tasks.iter().filter(|task| self.is_alone() || self.executes(task)) {
            if let Some(cancel) = &task.cancel {
                self.cascade_fully(task.id(), cancel).await?;
                resumed += 1;
            }
        }
        Ok(resumed)
    }

    /// Goes on with the cancels of many and the removals that a crash
    /// interrupted.
    async fn resume_sweeps(self: &Arc<Self>) -> Result<(), Error> {
        let mut after = None;
        loop {
            let page = self.store.sessions(after, BATCH).await?;
            for session in page.items {
                if session.is_removing() {
                    self.finish_removal(session.id).await?;
                }
                for sweep in &session.sweeps {
                    self.finish_sweep(session.id, sweep).await?;
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn judge(self: &Arc<Self>, mut task: Task) -> Result<(), Error> {
        loop {
            match self.judge_as_is(&task).await {
                // It changed under the judge, perhaps by the cancel of a task
                // above it: what is still nobody's is judged again.
                Err(Error::Contended) => match self.store.task(task.id()).await? {
                    Some(next) if next.is_live() => task = next,
                    _ => return Ok(()),
                },
                judged => return judged,
            }
        }
    }

    async fn judge_as_is(self: &Arc<Self>, task: &Task) -> Result<(), Error> {
        // This process's own: spawned while recovery was under way.
        let ours = self.cell(task.id()).is_some_and(|cell| cell.is_manned());
        if task.lease.worker == Some(self.worker) || ours {
            return Ok(());
        }
        if !self.executes(task) {
            // Untouched, unless somebody has asked it to stop and nobody else
            // can do so.
            let idle = task.state == State::Queued || self.is_left_behind(task);
            return match &task.cancel {
                Some(_) if idle => self.end(task, Conclusion::Evicted(Eviction::Abort)).await,
                _ => Ok(()),
            };
        }
        let id = task.id();
        if task.is_held() {
            return self.judge_held(task).await;
        }
        let backend = self.kinds.get(&task.spec.kind).cloned();
        let found = match &backend {
            Some(backend) if task.state != State::Queued => reconcile(&**backend, task).await,
            _ => Reconciled::ByPolicy,
        };
        match found {
            Reconciled::Ended(ended) => {
                return self.end(task, Conclusion::Ended(ended)).await;
            }
            _ if task.cancel.is_some() => {
                return self.end(task, Conclusion::Evicted(Eviction::Abort)).await;
            }
            Reconciled::Lost(reason) => return self.end(task, Conclusion::Lost(reason)).await,
            Reconciled::ByPolicy => {}
        }
        let Some(backend) = backend else { return self.end(task, lost()).await };
        if task.state == State::Queued {
            return self.enqueue(task, backend).await;
        }
        if task.spec.recovery == Recovery::Lose {
            return self.end(task, lost()).await;
        }
        let crashes = crashes_after_death(task);
        if crashes >= self.config.restarts.max_attempts {
            let failure = Failure::new(
                FailureKind::CrashLoop,
                format!(
                    "{crashes} attempts in a row ended without a result and got no further than \
                     the one before: the runtime stopped each time"
                ),
            );
            return self.end(task, Conclusion::Failed(failure)).await;
        }
        let requeued = self
            .change(
                id,
                |now, _| {
                    if now.seq != task.seq {
                        return Err(Error::Contended);
                    }
                    Ok(Intent::Requeue(Requeue::Crashed))
                },
                |_, batch| batch,
            )
            .await;
        match requeued {
            Ok(task) => self.enqueue(&task, backend).await,
            Err(Error::LeaseLost(_) | Error::Ended { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Wipes out the crashes of earlier attempts once one has got further; it
    /// has if what it has just committed is never done again. The rule is
    /// [`Intent::Advance`]'s.
    pub(crate) async fn advance(self: &Arc<Self>, cell: &Arc<Cell>) {
        if !cell.has_crashes() {
            return;
        }
        // Whoever comes second goes on no sooner than the first has done it.
        let _turn = cell.rare().advancing.lock().await;
        if !cell.has_crashes() {
            return;
        }
        let (id, epoch) = (cell.spec.id, cell.epoch());
        let advanced =
            self.change(id, |_, _| Ok(Intent::Advance), |_, batch| batch.fenced(id, epoch));
        // What was committed stands in any case, and the next commit tries
        // again.
        if !matches!(advanced.await, Err(Error::Store(_) | Error::Contended)) {
            cell.forget_crashes();
        }
    }

    /// Does so without anybody waiting for it.
    pub(crate) fn advance_later(self: &Arc<Self>, cell: &Arc<Cell>) {
        if cell.has_crashes() {
            let (engine, cell) = (self.clone(), cell.clone());
            self.world.spawn(async move { engine.advance(&cell).await });
        }
    }

    /// A task whose body had returned waits for its children; if it had
    /// failed, they are stopped.
    async fn judge_held(self: &Arc<Self>, task: &Task) -> Result<(), Error> {
        if let Some(cancel) = self.orphaned(task, self.now()) {
            self.cascade_fully(task.id(), &cancel).await?;
        }
        Ok(())
    }

    /// Ends a task that nobody executes.
    pub(crate) async fn end(
        self: &Arc<Self>,
        task: &Task,
        conclusion: Conclusion,
    ) -> Result<(), Error> {
        for tries in 0.. {
            let epoch = (task.state != State::Queued).then_some(task.lease.epoch);
            match self.try_settle(task.id(), epoch, &conclusion).await {
                Err(Error::Contended) => {}
                // What was written without an answer is told by the next try.
                Err(Error::Store(_)) if !self.is_closed() => self.back_off(tries).await,
                Err(Error::LeaseLost(_) | Error::Ended { .. } | Error::NotFound { .. }) => {
                    return Ok(());
                }
                ended => return ended,
            }
        }
        Ok(())
    }

    /// Has a queued task started in its turn, after a while if it crashed.
    async fn enqueue(
        self: &Arc<Self>,
        task: &Task,
        backend: Arc<dyn crate::backend::Backend>,
    ) -> Result<(), Error> {
        // Somebody may be waiting for the task already.
        let cell = self.cell_of(&task.spec);
        cell.man();
        // Who has written to it is not known any more.
        cell.note_outside_mail();
        let lacks = crate::panic::shield_or("lacks", None, || backend.lacks(task)).is_some();
        let ready = lacks.then(|| backend.ready(task));
        let body = Registered(Some(backend));
        if task.crashes == 0 && ready.is_none() {
            queue(self, cell, body);
            return Ok(());
        }
        let (engine, delay) = (Arc::downgrade(self), self.config.restarts.delay(task.crashes));
        let delay = (task.crashes > 0).then_some(delay);
        let world = self.world.clone();
        self.world.spawn(async move {
            if let Some(delay) = delay {
                world.sleep(delay).await;
            }
            if let Some(ready) = ready {
                ready.await;
            }
            if let Some(engine) = engine.upgrade().filter(|engine| !engine.is_closed()) {
                queue(&engine, cell, body);
            }
        });
        Ok(())
    }
}

/// What the backend found; one that panics has found nothing.
async fn reconcile(backend: &dyn Backend, task: &Task) -> Reconciled {
    let asked = AssertUnwindSafe(async { backend.reconcile(task).await });
    asked.catch_unwind().await.unwrap_or_else(|_| {
        tracing::warn!(task = %task.id(), "a backend panicked when it was asked to reconcile");
        Reconciled::ByPolicy
    })
}

fn lost() -> Conclusion {
    Conclusion::Lost("runtime stopped while running".into())
}
