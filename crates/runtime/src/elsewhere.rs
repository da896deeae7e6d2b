//! A body that waits elsewhere than in its future.
//!
//! What a body has started outside this process may wait for tasks by itself: a
//! command runs a shell, and the shell asks for the end of another command. The
//! body's future knows nothing of it and goes on to watch over its process. But
//! its task waits as any other does, and must not keep the slot that those it
//! waits for may need.

use offshoot_core::WaitingOn;

use crate::error::Error;
use crate::park::Parked;
use crate::task_ref::TaskRef;

/// A wait of a body for other tasks that happens elsewhere than in its future.
/// It lasts until this is dropped. A body may have any number of them, and goes
/// on when the last is over.
#[must_use = "the wait is over once this is dropped"]
#[derive(Debug)]
pub struct WaitElsewhere(#[expect(dead_code, reason = "its drop ends the wait")] Parked);

impl TaskRef {
    /// Says that the body of this task waits for other tasks, elsewhere than in
    /// its future. Its record says so until the wait is dropped, and its slot is
    /// free for others.
    ///
    /// When the last wait is over the task queues for a slot before those that
    /// have not started. What waited is not held up meanwhile, so for a while it
    /// may execute beyond the cap; its record says that it waits until it has a
    /// slot again.
    ///
    /// `None` if no body of the task is in this process, or it has ended.
    pub async fn wait_elsewhere(&self) -> Result<Option<WaitElsewhere>, Error> {
        let body = self.engine.cell(self.id()).filter(|cell| cell.epoch() != 0);
        let Some(cell) = body else { return Ok(None) };
        match self.engine.park(&cell, WaitingOn::Children).await {
            Ok(parked) => Ok(Some(WaitElsewhere(parked))),
            Err(Error::Ended { .. } | Error::LeaseLost(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
