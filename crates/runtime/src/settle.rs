//! The end of a task: the one commit that holds the result, the owner's row
//! and the wake-up.

use std::sync::Arc;

use futures_util::FutureExt;
use offshoot_core::{
    Cancel, Canceller, Failure, FailureKind, Intent, LiveChildren, Outcome, Owner, Payload,
    Requeue, Row, Stamp, Task, TaskId, decide,
};
use offshoot_store::{Batch, CommitError, Conflict, Guard, Write};
use smallvec::SmallVec;

use crate::body::{BodyError, Ended};
use crate::cell::{Cell, Eviction};
use crate::engine::Engine;
use crate::environment::BoxFuture;
use crate::error::Error;

/// How a body came to its end.
#[derive(Debug)]
pub(crate) enum Conclusion {
    Ended(Ended),
    Panicked(Failure),
    Evicted(Eviction),
    Lost(String),
    Failed(Failure),
}

/// An end that is being written.
pub(crate) struct Settlement {
    batch: Batch,
    /// Tasks that end with this commit, and whom it tells.
    ended: SmallVec<[(TaskId, Owner); 1]>,
    /// The request to stop the children that the task leaves behind.
    orphans: Option<Arc<Cancel>>,
}

impl Engine {
    /// Writes the end of a task whose body is gone: at once if the store
    /// answers at once, else by the future this returns.
    pub(crate) fn conclude(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        conclusion: Conclusion,
    ) -> Option<BoxFuture<()>> {
        let mut pending = None;
        if self.is_simple(cell, &conclusion)
            // Reading twice is harmless, so a read that is not ready at once
            // is begun again by the slow way.
            && let Some(Ok(Some(settlement))) =
                self.settlement(cell.spec.id, Some(cell.epoch()), &conclusion).now_or_never()
        {
            let Settlement { batch, ended, orphans } = settlement;
            match self.store.commit(batch).try_now() {
                Ok(Ok(_)) => {
                    self.settled(cell.spec.id, ended, orphans);
                    return None;
                }
                Ok(Err(_)) => {}
                Err(commit) => pending = Some((commit, ended, orphans)),
            }
        }
        let (engine, cell) = (self.clone(), cell.clone());
        Some(Box::pin(async move {
            if let Some((commit, ended, orphans)) = pending
                && commit.await.is_ok()
            {
                return engine.settled(cell.spec.id, ended, orphans);
            }
            engine.conclude_slowly(cell, conclusion).await;
        }))
    }

    fn is_simple(&self, cell: &Cell, conclusion: &Conclusion) -> bool {
        let small = match conclusion {
            Conclusion::Ended(Ok(value)) => value.bytes() <= self.config.sizes.inline as u64,
            Conclusion::Evicted(Eviction::Release) => false,
            _ => true,
        };
        small && !self.is_closed() && cell.throttle.lock().is_none()
    }

    async fn conclude_slowly(self: Arc<Self>, cell: Arc<Cell>, conclusion: Conclusion) {
        if matches!(conclusion, Conclusion::Evicted(Eviction::Release)) {
            return self.release(&cell).await;
        }
        self.flush_progress(&cell).await;
        let conclusion = self.keep_large_result(&cell, conclusion).await;
        let id = cell.spec.id;
        let mut tries = 0;
        loop {
            if self.is_closed() {
                return;
            }
            match self.try_settle(id, Some(cell.epoch()), &conclusion).await {
                Ok(()) => return,
                Err(Error::Contended) => continue,
                Err(Error::Store(error)) => {
                    if tries == 0 {
                        tracing::warn!(task = %id, %error, "the end of a task could not be written yet");
                    }
                    cell.set_settling(true);
                    cell.changed.ring();
                    self.back_off(tries).await;
                    tries = tries.saturating_add(1);
                }
                // Another attempt holds the lease, or the task has ended.
                Err(_) => {
                    if self.cell(id).is_some_and(|other| Arc::ptr_eq(&other, &cell)) {
                        self.leave(id);
                    }
                    return;
                }
            }
        }
    }

    /// Tries once to write the end of a task. `epoch` is that of the attempt
    /// that ended; without one, nobody executes the task.
    pub(crate) async fn try_settle(
        self: &Arc<Self>,
        id: TaskId,
        epoch: Option<u32>,
        conclusion: &Conclusion,
    ) -> Result<(), Error> {
        let Some(settlement) = self.settlement(id, epoch, conclusion).await? else {
            return self.catch_up(id).await;
        };
        let Settlement { batch, ended, orphans } = settlement;
        match self.store.commit(batch).await {
            Ok(_) => {
                self.settled(id, ended, orphans);
                Ok(())
            }
            Err(CommitError::Conflict(Conflict::LeaseOver(_) | Conflict::NoTask(_))) => {
                Err(Error::LeaseLost(id))
            }
            Err(CommitError::Conflict(_)) => Err(Error::Contended),
            Err(CommitError::Store(error)) => Err(Error::Store(error)),
        }
    }

    /// Tells everybody of ends that are durable.
    fn settled(
        self: &Arc<Self>,
        id: TaskId,
        ended: SmallVec<[(TaskId, Owner); 1]>,
        orphans: Option<Arc<Cancel>>,
    ) {
        if ended.is_empty() {
            // It waits for its children, without a body and without a slot.
            self.free_slot(id);
            self.touch(id);
        }
        for (ended, told) in ended {
            self.leave(ended);
            self.nudge(told);
        }
        if let Some(cancel) = orphans {
            self.cascade_later(id, cancel);
        }
    }

    /// Tells everybody of ends that were written by a try that was not
    /// answered: the task's own, and those of owners that waited for nothing
    /// else.
    async fn catch_up(self: &Arc<Self>, id: TaskId) -> Result<(), Error> {
        let mut ended = SmallVec::new();
        let mut next = Some(id);
        while let Some(id) = next.take() {
            let Some(task) = self.store.task(id).await? else { break };
            if !task.is_live() {
                ended.push((id, task.owner()));
                next = match task.owner() {
                    Owner::Task(owner) => Some(owner),
                    Owner::Session(_) => None,
                };
            } else if ended.is_empty() {
                let succeeded =
                    matches!(task.outcome.as_deref(), Some(Outcome::Completed { .. }));
                let orphans = self.orphans(&task, succeeded);
                self.settled(id, ended, orphans);
                return Ok(());
            }
        }
        self.settled(id, ended, None);
        Ok(())
    }

    /// The request to stop the children that a task leaves behind. Whoever
    /// asked the task itself to stop has its children stopped, too.
    fn orphans(&self, task: &Task, succeeded: bool) -> Option<Arc<Cancel>> {
        (!succeeded && task.cancel.is_none()).then(|| {
            Arc::new(Cancel {
                by: Canceller::OwnerEnded(task.id()),
                reason: "its owner ended".into(),
                at: self.now(),
                grace: self.config.grace,
            })
        })
    }

    /// The commit that ends a task so, with the owners that waited for nothing
    /// else; `None` if it has ended.
    async fn settlement(
        &self,
        id: TaskId,
        epoch: Option<u32>,
        conclusion: &Conclusion,
    ) -> Result<Option<Settlement>, Error> {
        let task = self.store.task(id).await?.ok_or_else(|| Error::not_found(id))?;
        if !task.is_live() || task.is_held() {
            return Ok(None);
        }
        let mine = match epoch {
            Some(epoch) => epoch == task.lease.epoch,
            None => task.lease.worker.is_none(),
        };
        if !mine {
            return Err(Error::LeaseLost(id));
        }
        let outcome = outcome(&task, conclusion);
        self.settlement_of(&task, epoch, outcome, self.now()).await.map(Some)
    }

    async fn settlement_of(
        &self,
        task: &Task,
        epoch: Option<u32>,
        outcome: Outcome,
        now: Stamp,
    ) -> Result<Settlement, Error> {
        let id = task.id();
        let children = match self.store.counts(Owner::Task(id)).await?.live() {
            0 => LiveChildren::None,
            _ => LiveChildren::Some,
        };
        let succeeded = matches!(outcome, Outcome::Completed { .. });
        let decided = decide(task, Intent::Finish(outcome, children), now)
            .map_err(|_| Error::Ended { id, state: task.state })?;
        let mut batch = Batch::new(now);
        if let Some(epoch) = epoch {
            batch = batch.fenced(id, epoch);
        }
        if children == LiveChildren::Some {
            let batch =
                batch.guard(Guard::HasChildren(id)).write(Write::Put(decided.task, decided.change));
            let orphans = self.orphans(task, succeeded);
            return Ok(Settlement { batch, ended: SmallVec::new(), orphans });
        }
        let mut settlement = Settlement {
            batch: batch.guard(Guard::Childless(id)),
            ended: SmallVec::new(),
            orphans: None,
        };
        settlement.end(decided, now);
        self.release_owners(task, &mut settlement, now).await?;
        Ok(settlement)
    }

    async fn release_owners(
        &self,
        task: &Task,
        settlement: &mut Settlement,
        now: Stamp,
    ) -> Result<(), Error> {
        let mut child = task.id();
        let mut owner = task.owner();
        while let Owner::Task(id) = owner {
            let held = self.store.task(id).await?.filter(Task::is_held);
            let last = match &held {
                None => false,
                Some(_) => self.store.counts(owner).await?.live() == 1,
            };
            let Some(held) = held.filter(|_| last) else {
                settlement.batch.guards.push(Guard::OwnerStays { owner: id, child });
                return Ok(());
            };
            settlement.batch.guards.push(Guard::OnlyChild { owner: id, child });
            let decided = decide(&held, Intent::Release, now).map_err(|_| Error::Contended)?;
            settlement.end(decided, now);
            child = id;
            owner = held.owner();
        }
        Ok(())
    }

    /// Gives a task back to the queue because this process lets it go.
    async fn release(self: Arc<Self>, cell: &Arc<Cell>) {
        let (id, epoch) = (cell.spec.id, cell.epoch());
        let mut tries = 0;
        loop {
            let released = self
                .change(
                    id,
                    |_, _| Ok(Intent::Requeue(Requeue::Released)),
                    |_, batch| batch.fenced(id, epoch),
                )
                .await;
            match released {
                Err(Error::Store(_) | Error::Contended) if !self.is_closed() => {
                    self.back_off(tries).await;
                    tries += 1;
                }
                _ => return self.leave(id),
            }
        }
    }

    /// Ends a task that nobody executes and nobody will.
    pub(crate) async fn disown(self: Arc<Self>, id: TaskId, by: Canceller) {
        let cancel = Arc::new(Cancel {
            by,
            reason: "the spawn was never acknowledged".into(),
            at: self.now(),
            grace: self.config.grace,
        });
        for tries in 0.. {
            match self.try_disown(id, &cancel).await {
                Err(Error::Store(_) | Error::Contended) if !self.is_closed() => {
                    self.back_off(tries).await;
                }
                _ => return self.leave(id),
            }
        }
    }

    async fn try_disown(self: &Arc<Self>, id: TaskId, cancel: &Arc<Cancel>) -> Result<(), Error> {
        let asked = self.change(
            id,
            |task, _| match task.cancel {
                Some(_) => Err(Error::Cancelled),
                None => Ok(Intent::Cancel(cancel.clone())),
            },
            |_, batch| batch,
        );
        match asked.await {
            Ok(_) | Err(Error::Cancelled) => {}
            Err(error) => return Err(error),
        }
        let task = self.task(id).await?.ok_or_else(|| Error::not_found(id))?;
        let epoch = task.lease.worker.map(|_| task.lease.epoch);
        self.try_settle(id, epoch, &Conclusion::Evicted(Eviction::Abort)).await
    }

    /// Moves a result that is too large for a record to a blob.
    async fn keep_large_result(&self, cell: &Cell, conclusion: Conclusion) -> Conclusion {
        let Conclusion::Ended(Ok(value)) = &conclusion else { return conclusion };
        match self.keep_large(cell, "result", value.clone()).await {
            Ok(value) => Conclusion::Ended(Ok(value)),
            Err(error) => {
                let kind = match error {
                    Error::TooLarge(_) => FailureKind::TooLarge,
                    _ => FailureKind::Error,
                };
                Conclusion::Failed(Failure::new(kind, error.to_string()))
            }
        }
    }

    /// The value itself if it is small enough for a record, else a blob.
    pub(crate) async fn keep_large(
        &self,
        cell: &Cell,
        what: &'static str,
        value: Payload,
    ) -> Result<Payload, Error> {
        let sizes = &self.config.sizes;
        let bytes = usize::try_from(value.bytes()).unwrap_or(usize::MAX);
        if bytes <= sizes.inline {
            return Ok(value);
        }
        offshoot_core::TooLarge::check(what, bytes, sizes.value)?;
        let json: Arc<str> = value.as_json()?.into();
        let mut tries = 0;
        loop {
            match self.store.put_blob(cell.spec.id, json.clone()).await {
                Ok(blob) => return Ok(Payload::Blob(blob)),
                Err(error) if self.is_closed() => return Err(error.into()),
                Err(_) => {
                    cell.set_settling(true);
                    self.back_off(tries).await;
                    tries += 1;
                }
            }
        }
    }

    fn free_slot(&self, id: TaskId) {
        if let Some(cell) = self.cell(id) {
            cell.slot.lock().take();
        }
    }
}

impl Settlement {
    fn end(&mut self, decided: offshoot_core::Decision, now: Stamp) {
        let (id, owner) = (decided.task.id(), decided.task.owner());
        let writes = &mut self.batch.writes;
        writes.push(Write::Put(decided.task, decided.change));
        writes.push(Write::CloseInbox { task: id, heir: owner });
        writes.push(Write::Deliver(Row::result(id, owner, now)));
        self.ended.push((id, owner));
    }
}

/// What really happened, given what was asked for.
fn outcome(task: &Task, conclusion: &Conclusion) -> Outcome {
    match conclusion {
        Conclusion::Ended(Ok(value)) => Outcome::value(value.clone()),
        Conclusion::Ended(Err(BodyError::Cancelled)) => match &task.cancel {
            Some(cancel) => Outcome::Cancelled { cancel: (**cancel).clone(), forced: false },
            None => Outcome::Failed(Failure::new(
                FailureKind::Error,
                "the body stopped as if cancelled, but nobody had asked it to",
            )),
        },
        Conclusion::Ended(Err(BodyError::Failed(failure)))
        | Conclusion::Panicked(failure)
        | Conclusion::Failed(failure) => Outcome::Failed(failure.clone()),
        Conclusion::Evicted(Eviction::Expire) => {
            let limit = task.spec.timeout.unwrap_or_default();
            Outcome::Failed(Failure::new(
                FailureKind::Timeout,
                format!("the task ran longer than the {limit:?} it may"),
            ))
        }
        Conclusion::Evicted(_) => match &task.cancel {
            Some(cancel) => {
                let forced = task.lease.epoch > 0;
                Outcome::Cancelled { cancel: (**cancel).clone(), forced }
            }
            None => Outcome::Lost { reason: "its body was dropped".into() },
        },
        Conclusion::Lost(reason) => Outcome::Lost { reason: reason.clone() },
    }
}
