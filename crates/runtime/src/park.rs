//! A body that waits gives its slot back and keeps its lease.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use offshoot_core::{Intent, Lane, State, Task, WaitingOn};
use offshoot_store::StoreError;
use tokio::sync::oneshot;

use crate::cell::Cell;
use crate::engine::{Engine, seat};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::slots::Slot;

/// A wait of a body. It must be ended with [`Parked::end`]; if it is dropped
/// instead, because the body gave the wait up, the runtime ends it.
#[derive(Debug)]
pub(crate) struct Parked {
    engine: Arc<Engine>,
    cell: Option<Arc<Cell>>,
    on: WaitingOn,
}

/// The waits of a body that are under way.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// What they wait on, oldest first.
    on: Vec<WaitingOn>,
    /// How many have begun so far. Who queues for a slot sees by it that the
    /// body waits again.
    begun: u64,
}

/// The place in the queue of a body that has no wait under way any more.
struct Turn {
    granted: oneshot::Receiver<Slot>,
    begun: u64,
}

impl Engine {
    /// Records that the body of `cell` waits, and frees its slot. A body that
    /// gives the wait up before it is recorded is resumed once it is.
    pub(crate) async fn park(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        on: WaitingOn,
    ) -> Result<Parked, Error> {
        let (engine, cell) = (self.clone(), cell.clone());
        self.see_through(Box::pin(async move { engine.record_park(&cell, on).await })).await
    }

    /// Does `work`, to its end even if the caller gives up: what is not done
    /// at once goes on by itself.
    async fn see_through<T: Send + 'static>(
        &self,
        mut work: BoxFuture<Result<T, Error>>,
    ) -> Result<T, Error> {
        if let Some(done) = (&mut work).now_or_never() {
            return done;
        }
        let (tell, told) = oneshot::channel();
        self.world.spawn(async move { drop(tell.send(work.await)) });
        told.await.unwrap_or(Err(Error::Closed))
    }

    async fn record_park(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        on: WaitingOn,
    ) -> Result<Parked, Error> {
        let mut waits = cell.rare().waits.lock().await;
        waits.on.push(on);
        if let Err(error) = self.show_wait(cell, &waits.on).await {
            waits.on.pop();
            return Err(error);
        }
        waits.begun += 1;
        let slot = cell.rare().slot.lock().take();
        if slot.is_none() {
            // It may still queue for one since its last wait.
            self.slots.withdraw(cell.spec.id, seat(&cell.spec));
        }
        Ok(Parked { engine: self.clone(), cell: Some(cell.clone()), on })
    }

    /// Has the record say what the body waits on. A body may have several
    /// waits under way; the one that somebody must do something about is
    /// shown, else the latest.
    async fn show_wait(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        waits: &[WaitingOn],
    ) -> Result<(), Error> {
        let asks = |on: &&WaitingOn| State::Waiting(**on).question().is_some();
        let Some(on) = waits.iter().rev().find(asks).or(waits.last()).copied() else {
            return Ok(());
        };
        let (id, epoch) = (cell.spec.id, cell.epoch());
        let mut unknown = false;
        for tries in 0.. {
            let park = |task: &Task, _| match task.state {
                State::Waiting(shown) if shown == on => Err(Error::Ended { id, state: task.state }),
                _ => Ok(Intent::Park(on)),
            };
            match self.change(id, park, |_, batch| batch.fenced(id, epoch)).await {
                Ok(_) => break,
                Err(Error::Ended { state: State::Waiting(shown), .. }) if shown == on => break,
                // It may wait or not, and must know before it goes on.
                Err(Error::Store(error)) if unknown || matches!(error, StoreError::Unknown(_)) => {
                    if self.is_closed() {
                        return Err(error.into());
                    }
                    unknown = true;
                    self.back_off(tries).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends a wait. A body that has no other goes on once it has a slot, or
    /// without one when its patience is over.
    async fn unpark(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        on: WaitingOn,
        patience: Option<Duration>,
    ) -> Result<(), Error> {
        let turn = {
            let mut waits = cell.rare().waits.lock().await;
            if let Some(at) = waits.on.iter().position(|other| *other == on) {
                waits.on.remove(at);
            }
            if !waits.on.is_empty() {
                return self.show_wait(cell, &waits.on).await;
            }
            match self.reclaim_slot(cell) {
                None => return self.record_resume(cell).await,
                Some(granted) => Turn { granted, begun: waits.begun },
            }
        };
        let resume = Box::pin(self.clone().resume_in_turn(cell.clone(), turn));
        let Some(patience) = patience else { return resume.await };
        let (resumed, over) = (self.see_through(resume), self.world.sleep(patience));
        match select(pin!(resumed), pin!(over)).await {
            Either::Left((resumed, _)) => resumed,
            Either::Right(_) => Ok(()),
        }
    }

    /// Takes a slot again if one is free, else the place in the queue that
    /// this returns. Those that resume go before those that start.
    fn reclaim_slot(&self, cell: &Cell) -> Option<oneshot::Receiver<Slot>> {
        let seat = seat(&cell.spec);
        match self.slots.take(seat) {
            Some(slot) => {
                *cell.rare().slot.lock() = Some(slot);
                None
            }
            None => {
                let (grant, granted) = oneshot::channel();
                let claim = Box::new(move |slot| drop(grant.send(slot)));
                self.slots.queue(cell.spec.id, seat, Lane::Resuming, claim);
                Some(granted)
            }
        }
    }

    /// Has the body go on when it is its turn. One that was asked to stop
    /// meanwhile does not wait for that: it is on its way out, and its record
    /// goes on waiting until it is gone.
    async fn resume_in_turn(self: Arc<Self>, cell: Arc<Cell>, turn: Turn) -> Result<(), Error> {
        let slot = match select(turn.granted, pin!(cell.cancelled())).await {
            Either::Left((granted, _)) => granted.ok(),
            Either::Right(_) => None,
        };
        let waits = cell.rare().waits.lock().await;
        match slot {
            // It waits again and needs none.
            _ if waits.begun != turn.begun => Ok(()),
            Some(slot) => {
                *cell.rare().slot.lock() = Some(slot);
                self.record_resume(&cell).await
            }
            None => {
                self.slots.withdraw(cell.spec.id, seat(&cell.spec));
                Ok(())
            }
        }
    }

    /// Has the record say that the body goes on.
    async fn record_resume(self: &Arc<Self>, cell: &Arc<Cell>) -> Result<(), Error> {
        let (id, epoch) = (cell.spec.id, cell.epoch());
        for tries in 0.. {
            let resumed = self
                .change(id, |_, _| Ok(Intent::Resume), |_, batch| batch.fenced(id, epoch))
                .await;
            match resumed {
                Ok(_) | Err(Error::Ended { state: State::Running, .. }) => return Ok(()),
                // The body cannot go on before its record does.
                Err(Error::Store(_) | Error::Contended) if !self.is_closed() => {
                    self.back_off(tries).await;
                }
                Err(error) => {
                    // The task has ended meanwhile, and nobody would look for
                    // the slot any more.
                    cell.free_slot();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl Parked {
    /// Ends the wait: takes a slot again and records that the body goes on.
    pub(crate) async fn end(self) -> Result<(), Error> {
        self.end_within(None).await
    }

    /// Ends the wait, and queues for a slot no longer than so. A body whose
    /// patience is over goes on without; its record goes on waiting until it
    /// is its turn.
    pub(crate) async fn end_within(mut self, patience: Option<Duration>) -> Result<(), Error> {
        match self.cell.take() {
            Some(cell) => {
                let (engine, on) = (self.engine.clone(), self.on);
                let unpark = Box::pin(async move { engine.unpark(&cell, on, patience).await });
                self.engine.see_through(unpark).await
            }
            None => Ok(()),
        }
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        if self.engine.is_closed() {
            return;
        }
        let (engine, on) = (self.engine.clone(), self.on);
        self.engine.world.spawn(async move {
            // The body may have ended meanwhile: then there is nothing to do.
            if let Err(error) = engine.unpark(&cell, on, None).await {
                tracing::debug!(task = %cell.spec.id, %error, "a dropped wait was not resumed");
            }
        });
    }
}
