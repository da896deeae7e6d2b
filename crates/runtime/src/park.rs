//! A body that waits gives its slot back and keeps its lease.

use std::sync::Arc;

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
pub(crate) struct Parked {
    engine: Arc<Engine>,
    cell: Option<Arc<Cell>>,
    on: WaitingOn,
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
        waits.push(on);
        if let Err(error) = self.show_wait(cell, &waits).await {
            waits.pop();
            return Err(error);
        }
        cell.free_slot();
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

    async fn unpark(self: &Arc<Self>, cell: &Arc<Cell>, on: WaitingOn) -> Result<(), Error> {
        let mut waits = cell.rare().waits.lock().await;
        if let Some(at) = waits.iter().position(|other| *other == on) {
            waits.remove(at);
        }
        if !waits.is_empty() {
            return self.show_wait(cell, &waits).await;
        }
        if !self.reclaim_slot(cell).await {
            return Ok(());
        }
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

    /// Takes a slot again; those that resume go before those that start. A
    /// body that was asked to stop while it queued does not wait for its turn:
    /// it is on its way out, and its record goes on waiting until it is gone.
    /// Whether it has a slot.
    async fn reclaim_slot(self: &Arc<Self>, cell: &Arc<Cell>) -> bool {
        if self.config.caps.executing.is_none() {
            return true;
        }
        let seat = seat(&cell.spec);
        let slot = match self.slots.take(seat) {
            Some(slot) => slot,
            None => {
                let (grant, granted) = oneshot::channel::<Slot>();
                let claim = Box::new(move |slot| drop(grant.send(slot)));
                self.slots.queue(cell.spec.id, seat, Lane::Resuming, claim);
                match select(granted, std::pin::pin!(cell.cancelled())).await {
                    Either::Left((Ok(slot), _)) => slot,
                    // The runtime is closing; the body is dropped soon.
                    Either::Left((Err(_), _)) => return false,
                    Either::Right(_) => {
                        self.slots.withdraw(cell.spec.id, seat);
                        return false;
                    }
                }
            }
        };
        *cell.rare().slot.lock() = Some(slot);
        true
    }
}

impl Parked {
    /// Ends the wait: takes a slot again and records that the body goes on.
    pub(crate) async fn end(mut self) -> Result<(), Error> {
        match self.cell.take() {
            Some(cell) => {
                let (engine, on) = (self.engine.clone(), self.on);
                let unpark = Box::pin(async move { engine.unpark(&cell, on).await });
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
            if let Err(error) = engine.unpark(&cell, on).await {
                tracing::debug!(task = %cell.spec.id, %error, "a dropped wait was not resumed");
            }
        });
    }
}
