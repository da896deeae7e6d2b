//! The end of a runtime in good order.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{Cancel, Canceller, Recovery, State};

use crate::cell::{Cell, Eviction};
use crate::engine::Engine;
use crate::error::Error;

impl Engine {
    /// Gives resumable tasks back and cancels the others; how many bodies are
    /// left when `patience` is over.
    pub(crate) async fn shut_down(self: &Arc<Self>, patience: Duration) -> usize {
        self.drain();
        let cancel = Arc::new(Cancel {
            by: Canceller::Shutdown,
            reason: "the runtime shuts down".into(),
            at: self.now(),
            grace: patience / 2,
        });
        for cell in self.cells() {
            self.let_go(&cell, &cancel).await;
        }
        let over = std::pin::pin!(self.world.sleep(patience));
        let empty = std::pin::pin!(self.until_empty());
        match select(over, empty).await {
            Either::Left(_) => self.bodies(),
            Either::Right(_) => 0,
        }
    }

    async fn let_go(self: &Arc<Self>, cell: &Arc<Cell>, cancel: &Arc<Cancel>) {
        let executing = cell.epoch() > 0;
        match cell.spec.recovery {
            Recovery::Resume | Recovery::Restart if executing => cell.evict(Eviction::Release),
            // What never started can start elsewhere, unless it is a closure.
            _ if !executing && self.kinds.contains_key(&cell.spec.kind) => {}
            _ => {
                let Ok(Some(task)) = self.task(cell.spec.id).await else { return };
                if !task.is_live() || (task.state != State::Queued && !executing) {
                    return;
                }
                match self.cancel_tree(task, cancel.clone()).await {
                    Ok(_) | Err(Error::Ended { .. }) => {}
                    Err(error) => {
                        tracing::warn!(task = %cell.spec.id, %error, "could not be cancelled");
                    }
                }
            }
        }
    }

    /// How many bodies are here.
    fn bodies(&self) -> usize {
        self.cells().iter().filter(|cell| cell.epoch() > 0).count()
    }

    async fn until_empty(&self) {
        loop {
            let gone = self.gone.listen();
            if self.bodies() == 0 {
                return;
            }
            gone.await;
        }
    }
}
