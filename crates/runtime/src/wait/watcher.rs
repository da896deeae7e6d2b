//! A watcher of one task, which sees its last record.
//!
//! A store may forget a task as soon as its end was read, by any reader. A
//! watcher therefore keeps the task's live entry, in which the end sets the last
//! record.

use std::sync::Arc;

use offshoot_core::{Addressee, Spec, Task};

use super::WaitEnd;
use crate::engine::Engine;
use crate::engine::live_task::LiveTask;
use crate::error::Error;

/// Sees the records of a task, and the last one even after the store has
/// forgotten the task.
#[derive(Debug)]
pub(crate) struct TaskWatcher {
    spec: Arc<Spec>,
    live: Option<Arc<LiveTask>>,
    last: Option<Task>,
    questions: QuestionFilter,
}

/// The questions of a task that end a wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuestionFilter {
    All,
    /// Those for its owner: a body that waits cannot answer the others.
    ForOwner,
}

impl TaskWatcher {
    pub(crate) fn new(engine: &Engine, spec: &Arc<Spec>) -> Self {
        let live = engine.live_task(spec.id);
        if let Some(live) = &live {
            live.keep_last();
        }
        Self { spec: spec.clone(), live, last: None, questions: QuestionFilter::All }
    }

    /// A watcher for a wait, by a body if `waiter` is one.
    pub(super) fn for_wait(
        engine: &Engine,
        waiter: Option<&Arc<LiveTask>>,
        spec: &Arc<Spec>,
    ) -> Self {
        let questions =
            if waiter.is_some() { QuestionFilter::ForOwner } else { QuestionFilter::All };
        Self { questions, ..Self::new(engine, spec) }
    }

    fn last(&self) -> Option<&Task> {
        self.last.as_ref().or_else(|| self.live.as_ref()?.last())
    }

    /// Reads the current record.
    async fn read(&mut self, engine: &Engine) -> Result<Task, Error> {
        engine.check_open()?;
        if let Some(last) = self.last() {
            return Ok(last.clone());
        }
        let task = match engine.store.task(self.spec.id).await? {
            Some(task) => task,
            None => self.read_forgotten(engine).await?,
        };
        if !task.is_live() {
            self.last = Some(task.clone());
        }
        Ok(task)
    }

    /// Resolves when the record meets the condition, or is the last one.
    pub(crate) async fn wait_until(
        &mut self,
        engine: &Engine,
        condition: impl Fn(&Task) -> bool,
    ) -> Result<Task, Error> {
        // A task that meets the condition already needs no live entry.
        if self.live.is_none() {
            let task = self.read(engine).await?;
            if condition(&task) {
                return Ok(task);
            }
        }
        loop {
            // Listens before it reads, so that it misses no change.
            let Some(live) = self.current_entry(engine) else { return self.read(engine).await };
            let changed = live.changed().notified();
            match self.read(engine).await {
                Ok(task) if task.is_live() && !condition(&task) => changed.await,
                found => {
                    let over = match &found {
                        Ok(task) => !task.is_live(),
                        Err(error) => matches!(error, Error::NotFound { .. }),
                    };
                    // A passive entry of an ended task has no other user that
                    // would remove it.
                    if over {
                        engine.remove_passive(self.spec.id, self.last());
                    }
                    return found;
                }
            }
        }
    }

    /// The current entry of the task; `None` once there is a last record.
    fn current_entry(&mut self, engine: &Engine) -> Option<Arc<LiveTask>> {
        let current = engine.live_task(self.spec.id);
        // This comes after the lookup: an entry that has left the table holds
        // the last record.
        if self.last().is_some() {
            return None;
        }
        let live = current.unwrap_or_else(|| engine.live_task_or_passive(&self.spec));
        self.live = Some(live.clone());
        Some(live)
    }

    /// The last record of a task that the store has forgotten. Another reader
    /// may have acknowledged the end before it was set in the live entry.
    async fn read_forgotten(&self, engine: &Engine) -> Result<Task, Error> {
        while let Some(live) = &self.live {
            let changed = live.changed().notified();
            let is_coming = live.is_active() && engine.is_current(live);
            if let Some(last) = live.last() {
                return Ok(last.clone());
            }
            if !is_coming {
                break;
            }
            engine.check_open()?;
            changed.await;
        }
        Err(Error::not_found(self.spec.id))
    }

    /// Resolves when the task has ended or needs input.
    pub(super) async fn wait_for_end(&mut self, engine: &Engine) -> Result<(Task, WaitEnd), Error> {
        let mut answered = 0;
        loop {
            let ends_wait = |task: &Task| {
                !task.is_live() || (task.state.question().is_some() && task.seq > answered)
            };
            let task = self.wait_until(engine, ends_wait).await?;
            match self.wait_end(engine, &task).await? {
                WaitEnd::TimedOut => answered = task.seq,
                end => return Ok((task, end)),
            }
        }
    }

    /// The current record, and why a wait would return now.
    pub(super) async fn check(&mut self, engine: &Engine) -> Result<(Task, WaitEnd), Error> {
        let task = self.read(engine).await?;
        let end = self.wait_end(engine, &task).await?;
        Ok((task, end))
    }

    /// Why a wait for the task would return now; [`WaitEnd::TimedOut`] if it
    /// would not. An answered question needs no input, even if its body has not
    /// gone on yet.
    async fn wait_end(&self, engine: &Engine, task: &Task) -> Result<WaitEnd, Error> {
        if !task.is_live() {
            return Ok(WaitEnd::Ended);
        }
        let Some(number) = task.state.question() else { return Ok(WaitEnd::TimedOut) };
        let questions = engine.store.questions(task.id()).await?;
        let open = questions.iter().find(|one| one.number == number && one.closed.is_none());
        let ends_wait =
            |addressee| self.questions == QuestionFilter::All || addressee == Addressee::Owner;
        Ok(if open.is_some_and(|open| ends_wait(open.addressee)) {
            WaitEnd::NeedsInput
        } else {
            WaitEnd::TimedOut
        })
    }
}
