//! The end of a task: the one commit that holds the result, the owner's row
//! and the wake-up.

use std::sync::Arc;

use offshoot_core::{
    Cancel, Canceller, Failure, FailureKind, Intent, LiveChildren, Outcome, Owner, Payload,
    Requeue, Stamp, State, Task, TaskId, decide, text,
};
use offshoot_store::{Batch, Commit, CommitError, Conflict, End, Fence, Guard, Write};

use crate::body::{BodyError, Ended};
use crate::cell::{Cell, Eviction};
use crate::desk::Desk;
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

/// What an end depends on.
struct Facts {
    task: Task,
    children: LiveChildren,
    /// The owners that wait for nothing but this task, nearest first.
    held: Vec<Task>,
    /// Who is left to be told.
    heir: Owner,
}

/// What follows from an end once it is durable.
struct Aftermath {
    /// The last record of the task, unless it waits for its children.
    ended: Option<Task>,
    /// The last records of the owners that have ended with it.
    released: Vec<Task>,
    told: Owner,
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
        let (id, epoch) = (cell.spec.id, Some(cell.epoch()));
        let mut pending = None;
        if self.is_simple(cell, &conclusion)
            // Reading twice is harmless, so a read that is not ready at once
            // is begun again by the slow way.
            && let Some(facts) = self.facts_at_hand(cell)
            && let Ok((commit, aftermath)) = self.write_end(facts, epoch, &conclusion)
        {
            match commit.try_now() {
                Ok(Ok(_)) => {
                    self.settled(id, aftermath, cell.desk());
                    return None;
                }
                Ok(Err(_)) => {}
                Err(commit) => pending = Some((commit, aftermath)),
            }
        }
        let (engine, cell) = (self.clone(), cell.clone());
        Some(Box::pin(async move {
            if let Some((commit, aftermath)) = pending
                && commit.await.is_ok()
            {
                return engine.settled(id, aftermath, cell.desk());
            }
            engine.conclude_slowly(cell, conclusion).await;
        }))
    }

    fn is_simple(&self, cell: &Cell, conclusion: &Conclusion) -> bool {
        let small = match conclusion {
            Conclusion::Ended(Ok(value)) => {
                let sizes = &self.config.sizes;
                value.bytes() <= sizes.inline.min(sizes.value) as u64
            }
            Conclusion::Evicted(Eviction::Release) => false,
            // What a backend has outside this process goes first.
            Conclusion::Evicted(_) => !self.kinds.contains_key(&cell.spec.kind),
            _ => true,
        };
        let silent = cell.known_rare().is_none_or(|rare| rare.throttle.lock().is_none());
        small && silent && !self.is_closed()
    }

    async fn conclude_slowly(self: Arc<Self>, cell: Arc<Cell>, conclusion: Conclusion) {
        if let Conclusion::Evicted(why) = conclusion {
            self.clear(&cell, why).await;
        }
        if matches!(conclusion, Conclusion::Evicted(Eviction::Release)) {
            return self.release(&cell).await;
        }
        let conclusion = self.keep_large_result(&cell, conclusion).await;
        let id = cell.spec.id;
        let mut tries = 0;
        loop {
            if self.is_closed() {
                return;
            }
            // The end does not overtake the last word.
            let settled = match self.write_progress(&cell).await {
                Err(Error::Store(error)) => Err(Error::Store(error)),
                _ => self.try_settle(id, Some(cell.epoch()), &conclusion).await,
            };
            match settled {
                Ok(()) => return,
                Err(Error::Contended) => continue,
                Err(Error::Store(error)) => {
                    if tries == 0 {
                        tracing::warn!(task = %id, %error, "the end of a task could not be written yet");
                    }
                    cell.set_settling(true);
                    cell.tell_changed();
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
        let Some(facts) = self.facts(id, epoch).await? else {
            // An earlier try was written although it was not said so.
            return self.catch_up(id).await;
        };
        let (commit, aftermath) = self.write_end(facts, epoch, conclusion)?;
        match commit.await {
            Ok(_) => {
                if let Some(last) = &aftermath.ended
                    && self.cell(id).is_none()
                {
                    self.dismiss(last);
                }
                self.settled(id, aftermath, None);
                Ok(())
            }
            Err(CommitError::Conflict(Conflict::LeaseOver(_) | Conflict::NoTask(_))) => {
                Err(Error::LeaseLost(id))
            }
            Err(CommitError::Conflict(_)) => Err(Error::Contended),
            Err(CommitError::Store(error)) => Err(Error::Store(error)),
        }
    }

    /// Tells everybody of ends that are durable. The desk is the session's, if
    /// it is at hand.
    fn settled(self: &Arc<Self>, id: TaskId, aftermath: Aftermath, desk: Option<&Desk>) {
        match &aftermath.ended {
            Some(last) => self.leave_ended(last),
            None => self.hold(id),
        }
        for owner in &aftermath.released {
            self.dismiss(owner);
        }
        if aftermath.ended.is_some() {
            match (aftermath.told, desk) {
                (Owner::Session(_), Some(desk)) => desk.nudge.ring(),
                (told, _) => self.nudge(told),
            }
        }
        if let Some(cancel) = aftermath.orphans {
            self.cascade_later(id, cancel);
        }
    }

    /// Does what follows from an end whose commit gave no answer: whoever it
    /// ended leaves, and whoever it tells is woken.
    async fn catch_up(self: &Arc<Self>, id: TaskId) -> Result<(), Error> {
        let mut next = Owner::Task(id);
        while let Owner::Task(id) = next {
            let Some(task) = self.store.task(id).await? else {
                // It was read, and forgotten, before this came to tell of it;
                // so may those be that ended with it.
                let Some(cell) = self.cell(id) else { return Ok(()) };
                cell.evict(Eviction::Abandon);
                self.leave(id);
                next = cell.spec.owner();
                self.nudge(next);
                continue;
            };
            if task.is_held() {
                self.hold(id);
                if let Some(cancel) = self.orphaned(&task, self.now()) {
                    self.cascade_later(id, cancel);
                }
            }
            if task.is_live() {
                return Ok(());
            }
            self.dismiss(&task);
            self.nudge(task.owner());
            next = task.owner();
        }
        Ok(())
    }

    /// Lets go of a task that has ended.
    fn dismiss(&self, task: &Task) {
        match self.cell(task.id()) {
            // A worker that took this one for dead may have ended the task
            // while its body still runs here: that goes, too.
            Some(cell) if cell.epoch() != 0 => cell.evict(Eviction::Abandon),
            Some(_) => {}
            // An earlier process left it, and who has written to it is not
            // known any more.
            None => self.nudge_above(&task.spec),
        }
        self.leave_ended(task);
    }

    /// Keeps a task that waits for its children, without a body and without a
    /// slot.
    fn hold(&self, id: TaskId) {
        if let Some(cell) = self.cell(id) {
            cell.set_epoch(0);
            cell.set_settling(false);
            cell.free_slot();
            cell.tell_changed();
        }
        self.tell_gone();
    }

    /// The request to stop the children of a task that ends as its record
    /// says. Whoever asked it to stop has its children stopped, too.
    pub(crate) fn orphaned(&self, task: &Task, now: Stamp) -> Option<Arc<Cancel>> {
        let succeeded = matches!(task.outcome.as_deref(), Some(Outcome::Completed { .. }));
        (!succeeded && task.cancel.is_none()).then(|| {
            Arc::new(Cancel {
                by: Canceller::OwnerEnded(task.id()),
                reason: "its owner ended".into(),
                at: now,
                grace: self.config.grace,
            })
        })
    }

    /// What the end of an ordinary task depends on, if it is known at once. The
    /// commit refuses if the task has children after all, or an owner that
    /// waits for nothing else.
    fn facts_at_hand(&self, cell: &Cell) -> Option<Facts> {
        let task = match cell.first() {
            Some(first) => first.clone(),
            None => self.store.task(cell.id()).try_now().ok()?.ok()??,
        };
        if !task.is_live() || task.is_held() || task.lease.epoch != cell.epoch() {
            return None;
        }
        let heir = task.owner();
        Some(Facts { task, children: LiveChildren::None, held: Vec::new(), heir })
    }

    /// Reads what the end of a task depends on; `None` if it has ended.
    async fn facts(&self, id: TaskId, epoch: Option<u32>) -> Result<Option<Facts>, Error> {
        let Some(task) = self.store.task(id).await? else { return Ok(None) };
        if !task.is_live() || task.is_held() {
            return Ok(None);
        }
        let ours = match epoch {
            Some(epoch) => epoch == task.lease.epoch,
            // Otherwise its body is on its way, and ends it.
            None => task.state == State::Queued,
        };
        if !ours {
            return Err(Error::LeaseLost(id));
        }
        let mut heir = task.owner();
        let mut held = Vec::new();
        if self.store.counts(Owner::Task(id)).await?.live() > 0 {
            return Ok(Some(Facts { task, children: LiveChildren::Some, held, heir }));
        }
        while let Owner::Task(id) = heir
            && let Some(owner) = self.store.task(id).await?.filter(Task::is_held)
            && self.store.counts(heir).await?.live() == 1
        {
            heir = owner.owner();
            held.push(owner);
        }
        Ok(Some(Facts { task, children: LiveChildren::None, held, heir }))
    }

    /// Commits the end of a task, and with it of the owners that waited for
    /// nothing else. Rows go straight to whoever is left to read them: an
    /// owner that ends in the same commit would only pass them on.
    fn write_end(
        &self,
        facts: Facts,
        epoch: Option<u32>,
        conclusion: &Conclusion,
    ) -> Result<(Commit, Aftermath), Error> {
        let Facts { task, children, held, heir } = facts;
        let (id, now) = (task.id(), self.now());
        let outcome = outcome(&task, conclusion, self.config.sizes.text);
        let decided = decide(&task, Intent::Finish(outcome, children), now)
            .map_err(|_| Error::Ended { id, state: task.state })?;
        let mut batch = Batch::new(now);
        batch.fence = epoch.map(|epoch| Fence { task: id, epoch });
        let orphans = match children {
            LiveChildren::Some => self.orphaned(&decided.task, now),
            LiveChildren::None => None,
        };
        let mut aftermath = Aftermath { ended: None, released: Vec::new(), told: heir, orphans };
        if children == LiveChildren::Some {
            batch.push(Write::Put(decided.task, decided.change));
            batch.guards.push(Guard::HasChildren(id));
            return Ok((self.store.commit(batch), aftermath));
        }
        batch.guards.push(Guard::Childless(id));
        aftermath.ended = Some(decided.task.clone());
        batch.push(Write::End(End { task: decided.task, change: decided.change, heir }));
        let mut child = id;
        for owner in &held {
            let id = owner.id();
            let decided = decide(owner, Intent::Release, now).map_err(|_| Error::Contended)?;
            batch.guards.push(Guard::OnlyChild { owner: id, child });
            aftermath.released.push(decided.task.clone());
            batch.push(Write::End(End { task: decided.task, change: decided.change, heir }));
            child = id;
        }
        if let Owner::Task(owner) = heir {
            batch.guards.push(Guard::OwnerStays { owner, child });
        }
        Ok((self.store.commit(batch), aftermath))
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
        offshoot_core::TooLarge::check(what, bytes, sizes.value)?;
        if bytes <= sizes.inline {
            return Ok(value);
        }
        let json: Arc<str> = value.as_json()?.into();
        let mut tries = 0;
        loop {
            match self.store.put_blob(cell.spec.id, json.clone()).await {
                Ok(blob) => return Ok(blob.into()),
                Err(error) if self.is_closed() => return Err(error.into()),
                Err(_) => {
                    cell.set_settling(true);
                    self.back_off(tries).await;
                    tries += 1;
                }
            }
        }
    }
}

/// What really happened, given what was asked for. What others say of it is
/// cut to `bytes`.
fn outcome(task: &Task, conclusion: &Conclusion, bytes: usize) -> Outcome {
    match conclusion {
        Conclusion::Ended(Ok(value)) => Outcome::value(value.clone()),
        Conclusion::Ended(Err(BodyError::Cancelled)) => match &task.cancel {
            Some(cancel) => Outcome::Cancelled { cancel: cancel.clone(), forced: false },
            None => Outcome::from(Failure::new(
                FailureKind::Error,
                "the body stopped as if cancelled, but nobody had asked it to",
            )),
        },
        Conclusion::Ended(Err(BodyError::Failed(failure))) | Conclusion::Panicked(failure) => {
            failure.clone().bounded(bytes).into()
        }
        Conclusion::Failed(failure) => failure.clone().into(),
        Conclusion::Evicted(Eviction::Expire) => {
            let limit = task.spec.terms.timeout.unwrap_or_default();
            Outcome::from(Failure::new(
                FailureKind::Timeout,
                format!("the task ran longer than the {limit:?} it may"),
            ))
        }
        Conclusion::Evicted(_) => match &task.cancel {
            Some(cancel) => {
                let forced = task.lease.epoch > 0;
                Outcome::Cancelled { cancel: cancel.clone(), forced }
            }
            None => Outcome::Lost { reason: "its body was dropped".into() },
        },
        Conclusion::Lost(reason) => Outcome::Lost { reason: text::fit(reason, bytes).into_owned() },
    }
}
