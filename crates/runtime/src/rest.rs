//! Coming to rest: a task has ended, or needs input.

use std::sync::Arc;

use offshoot_core::{Spec, Task};

use crate::engine::Engine;
use crate::error::Error;
use crate::wait::WaitEnd;

impl Engine {
    /// Resolves when the task has ended or needs input.
    pub(crate) async fn until_rest(
        self: &Arc<Self>,
        spec: &Arc<Spec>,
    ) -> Result<(Task, WaitEnd), Error> {
        let mut answered = 0;
        loop {
            let rests = |task: &Task| {
                !task.is_live() || (task.state.question().is_some() && task.seq > answered)
            };
            let task = self.until(spec, rests).await?;
            match self.end_of(&task).await? {
                WaitEnd::TimedOut => answered = task.seq,
                end => return Ok((task, end)),
            }
        }
    }

    /// Why a wait for the task would return now. A question that was answered
    /// needs no input, even if its body has not gone on yet.
    async fn end_of(&self, task: &Task) -> Result<WaitEnd, Error> {
        if !task.is_live() {
            return Ok(WaitEnd::Ended);
        }
        let Some(number) = task.state.question() else { return Ok(WaitEnd::TimedOut) };
        let asked = self.store.questions(task.id()).await?;
        let open = asked.iter().any(|one| one.number == number && one.closed.is_none());
        Ok(if open { WaitEnd::NeedsInput } else { WaitEnd::TimedOut })
    }

    /// Resolves when the record is as wanted.
    pub(crate) async fn until(
        self: &Arc<Self>,
        spec: &Arc<Spec>,
        wanted: impl Fn(&Task) -> bool,
    ) -> Result<Task, Error> {
        loop {
            let task = self.present(spec).await?;
            if wanted(&task) {
                return Ok(task);
            }
            // Listens before it looks again, so that no change is missed.
            let cell = self.cell_of(spec);
            let changed = cell.changed().listen();
            match self.task(spec.id).await? {
                Some(task) if !wanted(&task) => changed.await,
                found => {
                    // Nobody else may come to take the cell of a task that is
                    // over away.
                    if !found.as_ref().is_some_and(Task::is_live) {
                        self.forget_passive(spec.id);
                    }
                    return found.ok_or_else(|| Error::not_found(spec.id));
                }
            }
        }
    }

    async fn present(&self, spec: &Spec) -> Result<Task, Error> {
        self.task(spec.id).await?.ok_or_else(|| Error::not_found(spec.id))
    }

    /// How the task stands, and why a wait for it would return now.
    pub(crate) async fn look(&self, spec: &Spec) -> Result<(Task, WaitEnd), Error> {
        let task = self.present(spec).await?;
        let end = self.end_of(&task).await?;
        Ok((task, end))
    }
}
