//! The end of a runtime in good order.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{Cancel, Canceller, Recovery};

use crate::cell::{Cell, Eviction};
use crate::engine::Engine;
use crate::error::Error;
use crate::sweep::Marked;

impl Engine {
    /// Gives resumable tasks back and cancels the others; how many bodies are
    /// left when `patience` is over.
    pub(crate) async fn shut_down(self: &Arc<Self>, patience: Duration) -> usize {
        self.drain();
        let cancel = self.ending(patience / 2);
        // A slot that is given back now starts nobody.
        self.slots.close();
        let over = std::pin::pin!(self.world.sleep(patience));
        let empty = std::pin::pin!(self.empty(&cancel));
        match select(over, empty).await {
            Either::Left(_) => self.bodies(),
            Either::Right(_) => 0,
        }
    }

    /// Lets every body go and waits until they have gone.
    async fn empty(self: &Arc<Self>, cancel: &Arc<Cancel>) {
        // What cannot go on later ends first: it takes its children with it,
        // whatever they could do.
        let (lasting, mortal): (Vec<_>, Vec<_>) =
            self.cells().into_iter().partition(|cell| self.can_go_on(cell));
        self.stop_for_good(&mortal, cancel).await;
        for cell in lasting {
            if cell.epoch() > 0 && !cell.is_cancelled() {
                cell.evict(Eviction::Release);
            }
        }
        self.until_empty().await;
    }

    /// Lets a body go that begins only now: its record was not there yet when
    /// the others were told.
    pub(crate) fn stop_late(self: &Arc<Self>, cell: Arc<Cell>) {
        if self.can_go_on(&cell) {
            cell.evict(Eviction::Release);
            return;
        }
        let engine = self.clone();
        self.world.spawn(async move {
            let cancel = engine.ending(engine.config.grace);
            engine.stop_for_good(&[cell], &cancel).await;
        });
    }

    fn ending(&self, grace: Duration) -> Arc<Cancel> {
        let reason = "the runtime shuts down".into();
        Arc::new(Cancel { by: Canceller::Shutdown, reason, at: self.now(), grace })
    }

    /// Whether a later runtime can go on with the task, or start it.
    fn can_go_on(&self, cell: &Cell) -> bool {
        let registered = self.kinds.contains_key(&cell.spec.kind);
        registered && (cell.spec.recovery != Recovery::Lose || cell.epoch() == 0)
    }

    /// Cancels the tasks of these cells, many in one commit.
    async fn stop_for_good(self: &Arc<Self>, cells: &[Arc<Cell>], cancel: &Arc<Cancel>) {
        for tries in 0.. {
            let mut tasks = Vec::with_capacity(cells.len());
            for cell in cells {
                // One that waits for its children has its outcome, and one
                // that is somebody else's is not touched.
                if let Ok(Some(task)) = self.task(cell.spec.id).await
                    && task.is_live()
                    && !task.is_held()
                    && cell.is_manned()
                {
                    tasks.push(task);
                }
            }
            match self.cancel_all(tasks, cancel, &mut Marked::default()).await {
                Err(Error::Store(_) | Error::Contended) if !self.is_closed() => {
                    self.back_off(tries).await;
                }
                Err(error) => return tracing::warn!(%error, "not everything could be cancelled"),
                Ok(()) => return,
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
