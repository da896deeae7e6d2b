//! Coming to rest: a task has ended, or needs input.

use offshoot_core::{Addressee, Task};

use crate::engine::Engine;
use crate::error::Error;
use crate::lookout::{Heeds, Lookout};
use crate::wait::WaitEnd;

impl Engine {
    /// Resolves when the task has ended or needs input.
    pub(crate) async fn until_rest(&self, lookout: &mut Lookout) -> Result<(Task, WaitEnd), Error> {
        let mut answered = 0;
        loop {
            let rests = |task: &Task| {
                !task.is_live() || (task.state.question().is_some() && task.seq > answered)
            };
            let task = self.until(lookout, rests).await?;
            match self.end_of(&task, lookout.heeds).await? {
                WaitEnd::TimedOut => answered = task.seq,
                end => return Ok((task, end)),
            }
        }
    }

    /// Why a wait for the task would return now. A question that was answered
    /// needs no input, even if its body has not gone on yet.
    async fn end_of(&self, task: &Task, heeds: Heeds) -> Result<WaitEnd, Error> {
        if !task.is_live() {
            return Ok(WaitEnd::Ended);
        }
        let Some(number) = task.state.question() else { return Ok(WaitEnd::TimedOut) };
        let asked = self.store.questions(task.id()).await?;
        let asked = asked.iter().find(|one| one.number == number && one.closed.is_none());
        let is_heeded = |addressee| heeds == Heeds::All || addressee == Addressee::Owner;
        Ok(if asked.is_some_and(|asked| is_heeded(asked.addressee)) {
            WaitEnd::NeedsInput
        } else {
            WaitEnd::TimedOut
        })
    }

    /// How the task stands, and why a wait for it would return now.
    pub(crate) async fn look(&self, lookout: &mut Lookout) -> Result<(Task, WaitEnd), Error> {
        let task = self.present(lookout).await?;
        let end = self.end_of(&task, lookout.heeds).await?;
        Ok((task, end))
    }
}
