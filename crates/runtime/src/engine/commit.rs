//! Decisions and commits: one change of a record, and the notification of
//! those it concerns.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Cursor, Intent, Owner, Stamp, Task, TaskId, decide};
use offshoot_store::{Batch, CommitError, Conflict, Counter, CounterChange, StoreError, Write};
use tokio::sync::oneshot;

use super::live_task::LiveTask;
use super::{Engine, MAX_DECISIONS};
use crate::error::Error;

/// The recipients of a commit's notifications.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NotifyTarget {
    /// The watchers of the task.
    Record(TaskId),
    /// The owner, whose inbox has a new row.
    Inbox(Owner),
    /// The task that asked, and its watchers.
    Question(TaskId),
}

impl Engine {
    /// The record of a task.
    pub(crate) async fn task(&self, id: TaskId) -> Result<Option<Task>, Error> {
        self.check_open()?;
        Ok(self.store.task(id).await?)
    }

    /// Decides and commits one change of a record, and does so again while
    /// concurrent changes get in first. `extend` adds to the commit.
    pub(crate) async fn change(
        self: &Arc<Self>,
        id: TaskId,
        intent: impl Fn(&Task, Stamp) -> Result<Intent, Error>,
        extend: impl Fn(&Task, Batch) -> Batch,
    ) -> Result<Task, Error> {
        for _ in 0..MAX_DECISIONS {
            let task = self.task(id).await?.ok_or_else(|| Error::not_found(id))?;
            let now = self.now();
            let decided = decide(&task, intent(&task, now)?, now)
                .map_err(|_| Error::Ended { id, state: task.state })?;
            let batch = extend(&task, Batch::new(now));
            let next = decided.task.clone();
            let batch = batch.write(Write::Put(decided.task, decided.change));
            match self.commit(batch, NotifyTarget::Record(id)).await {
                Ok(_) => return Ok(next),
                Err(CommitError::Conflict(Conflict::Stale(stale))) if stale == id => {}
                Err(error) => return Err(Error::from_commit(error)),
            }
        }
        Err(Error::Contended)
    }

    /// Commits a batch and notifies its target.
    ///
    /// The notification also happens if the caller drops this future, and if
    /// the store does not say whether it wrote the batch.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        batch: Batch,
        target: NotifyTarget,
    ) -> Result<Cursor, CommitError> {
        let pending = match self.store.commit(batch).try_now() {
            Ok(committed) => return self.after_commit(committed, target),
            Err(pending) => pending,
        };
        let (sender, receiver) = oneshot::channel();
        let engine = self.clone();
        self.world.spawn(async move {
            drop(sender.send(engine.after_commit(pending.await, target)));
        });
        receiver.await.unwrap_or(Err(CommitError::Store(StoreError::Closed)))
    }

    fn after_commit(
        &self,
        committed: Result<Cursor, CommitError>,
        target: NotifyTarget,
    ) -> Result<Cursor, CommitError> {
        if committed.is_ok() || committed.as_ref().is_err_and(is_uncertain) {
            match target {
                NotifyTarget::Record(task) => self.notify_changed(task),
                NotifyTarget::Inbox(owner) => self.notify_inbox(owner),
                NotifyTarget::Question(task) => {
                    self.notify_inbox(Owner::Task(task));
                    self.notify_changed(task);
                }
            }
        }
        committed
    }

    /// Resets the crash count of a task once an attempt has made progress: what
    /// it has just committed is never done again. The rule is
    /// [`Intent::Advance`]'s.
    pub(crate) async fn advance(self: &Arc<Self>, live: &Arc<LiveTask>) {
        if !live.has_crashes() {
            return;
        }
        // A concurrent call returns after the first one has done the work.
        let _advancing = live.rare().advancing.lock().await;
        if !live.has_crashes() {
            return;
        }
        let (id, epoch) = (live.spec.id, live.epoch());
        let advanced =
            self.change(id, |_, _| Ok(Intent::Advance), |_, batch| batch.fenced(id, epoch));
        // After a failure the next commit of the body tries again.
        if !matches!(advanced.await, Err(Error::Store(_) | Error::Contended)) {
            live.forget_crashes();
        }
    }

    /// Calls [`Engine::advance`] in a task of the executor.
    pub(crate) fn advance_later(self: &Arc<Self>, live: &Arc<LiveTask>) {
        if live.has_crashes() {
            let (engine, live) = (self.clone(), live.clone());
            self.world.spawn(async move { engine.advance(&live).await });
        }
    }

    /// Changes counters for a body, all of them or none. The store checks each
    /// limit in the same commit, so concurrent changes never exceed it.
    pub(crate) async fn count(
        &self,
        live: &LiveTask,
        counts: Vec<CounterChange>,
    ) -> Result<(), Error> {
        self.check_open()?;
        if counts.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new(self.now()).fenced(live.spec.id, live.epoch());
        batch.writes.extend(counts.into_iter().map(Write::Count));
        self.store.commit(batch).await.map_err(Error::from_commit)?;
        Ok(())
    }

    /// The value of a task's counter; zero if it was never changed.
    pub(crate) async fn counter(&self, task: TaskId, name: &str) -> Result<u64, Error> {
        self.check_open()?;
        let counter = Counter { owner: Owner::Task(task), name: name.into() };
        Ok(self.store.counter(&counter).await?)
    }

    /// Waits before a write is tried again: twice as long each time, and at
    /// most 2.56 seconds.
    pub(crate) async fn back_off(&self, tries: u32) {
        let millis = 10u64 << tries.min(8);
        self.world.sleep(Duration::from_millis(millis)).await;
    }

    /// Yields to other tasks of the executor once.
    pub(crate) async fn yield_now(&self) {
        let mut yielded = false;
        std::future::poll_fn(|cx| {
            if yielded {
                return std::task::Poll::Ready(());
            }
            yielded = true;
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    }
}

/// Whether a commit that failed may have been written all the same.
fn is_uncertain(error: &CommitError) -> bool {
    matches!(error, CommitError::Store(StoreError::Unknown(_)))
}
