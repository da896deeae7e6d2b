//! Waits of a body: it gives its slot back and keeps its lease.
//!
//! A body mostly waits inside its future. An [`ExternalWait`] happens outside of
//! it: a command runs a shell, and the shell runs `offshoot tasks wait`. The
//! body's future only watches the process, but its task waits, and must not keep
//! a slot that the awaited tasks may need.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use offshoot_core::{Intent, Lane, Task, TaskId, TaskState, WaitingOn};
use offshoot_store::StoreError;
use tokio::sync::oneshot;

use crate::engine::live_task::LiveTask;
use crate::engine::slots::Slot;
use crate::engine::{Engine, seat};
use crate::environment::BoxFuture;
use crate::error::Error;

/// A wait of a body that is in progress. [`Suspension::end`] ends it; if it is
/// dropped instead, because the body gave the wait up, the runtime ends it.
#[derive(Debug)]
pub(crate) struct Suspension {
    engine: Arc<Engine>,
    live: Option<Arc<LiveTask>>,
    on: WaitingOn,
}

/// The place in the slot queue of a body whose last wait is over.
struct QueuedResume {
    granted: oneshot::Receiver<Slot>,
    /// [`OpenWaits::begun`](crate::engine::rare_state::OpenWaits) at that time.
    begun: u64,
}

/// Records that a body waits, and gives its slot back. If the caller drops this
/// future before the wait is recorded, the body is resumed once it is.
pub(crate) async fn suspend(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    on: WaitingOn,
) -> Result<Suspension, Error> {
    let (runner, live) = (engine.clone(), live.clone());
    complete(engine, Box::pin(async move { record_wait(&runner, &live, on).await })).await
}

/// Does `work` to its end, even if the caller drops this future: what is not
/// done at once goes on in a task of the executor.
async fn complete<T: Send + 'static>(
    engine: &Engine,
    mut work: BoxFuture<Result<T, Error>>,
) -> Result<T, Error> {
    if let Some(done) = (&mut work).now_or_never() {
        return done;
    }
    let (sender, receiver) = oneshot::channel();
    engine.world.spawn(async move { drop(sender.send(work.await)) });
    receiver.await.unwrap_or(Err(Error::Closed))
}

async fn record_wait(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    on: WaitingOn,
) -> Result<Suspension, Error> {
    let mut waits = live.rare().waits.lock().await;
    waits.on.push(on);
    if let Err(error) = show_wait(engine, live, &waits.on).await {
        waits.on.pop();
        return Err(error);
    }
    waits.begun += 1;
    let slot = live.rare().slot.lock().take();
    if slot.is_none() {
        // The body may still queue for a slot since its last wait.
        engine.slots.withdraw(live.spec.id, seat(&live.spec));
    }
    Ok(Suspension { engine: engine.clone(), live: Some(live.clone()), on })
}

/// Has the record say what the body waits on. Of several waits it shows one
/// that needs input or approval, else the latest.
async fn show_wait(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    waits: &[WaitingOn],
) -> Result<(), Error> {
    let is_question = |on: &&WaitingOn| TaskState::Waiting(**on).question().is_some();
    let Some(on) = waits.iter().rev().find(is_question).or(waits.last()).copied() else {
        return Ok(());
    };
    let (id, epoch) = (live.spec.id, live.epoch());
    let mut unknown = false;
    for tries in 0.. {
        let park = |task: &Task, _| match task.state {
            TaskState::Waiting(shown) if shown == on => Err(Error::Ended { id, state: task.state }),
            _ => Ok(Intent::Park(on)),
        };
        match engine.change(id, park, |_, batch| batch.fenced(id, epoch)).await {
            Ok(_) => break,
            Err(Error::Ended { state: TaskState::Waiting(shown), .. }) if shown == on => break,
            // The body must know what its record says before it goes on.
            Err(Error::Store(error)) if unknown || matches!(error, StoreError::Unknown(_)) => {
                if engine.is_closed() {
                    return Err(error.into());
                }
                unknown = true;
                engine.back_off(tries).await;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Ends a wait. After its last one the body goes on once it has a slot, or
/// without one when `patience` is over.
async fn resume(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    on: WaitingOn,
    patience: Option<Duration>,
) -> Result<(), Error> {
    let queued = {
        let mut waits = live.rare().waits.lock().await;
        if let Some(at) = waits.on.iter().position(|other| *other == on) {
            waits.on.remove(at);
        }
        if !waits.on.is_empty() {
            return show_wait(engine, live, &waits.on).await;
        }
        match take_or_queue(engine, live) {
            None => return record_resume(engine, live).await,
            Some(granted) => QueuedResume { granted, begun: waits.begun },
        }
    };
    let resumed = Box::pin(resume_in_turn(engine.clone(), live.clone(), queued));
    let Some(patience) = patience else { return resumed.await };
    let (resumed, over) = (complete(engine, resumed), engine.world.sleep(patience));
    match select(pin!(resumed), pin!(over)).await {
        Either::Left((resumed, _)) => resumed,
        Either::Right(_) => Ok(()),
    }
}

/// Takes a slot if one is free; otherwise queues for one and returns where it
/// will be granted. Bodies that resume go before tasks that start.
fn take_or_queue(engine: &Engine, live: &LiveTask) -> Option<oneshot::Receiver<Slot>> {
    let seat = seat(&live.spec);
    match engine.slots.take(seat) {
        Some(slot) => {
            *live.rare().slot.lock() = Some(slot);
            None
        }
        None => {
            let (sender, granted) = oneshot::channel();
            let on_grant = Box::new(move |slot| drop(sender.send(slot)));
            engine.slots.queue(live.spec.id, seat, Lane::Resuming, on_grant);
            Some(granted)
        }
    }
}

/// Has the body go on in its turn. A body that is cancelled meanwhile goes on
/// without a slot, and its record says that it waits until it has ended.
async fn resume_in_turn(
    engine: Arc<Engine>,
    live: Arc<LiveTask>,
    queued: QueuedResume,
) -> Result<(), Error> {
    let slot = match select(queued.granted, pin!(live.cancelled())).await {
        Either::Left((granted, _)) => granted.ok(),
        Either::Right(_) => None,
    };
    let waits = live.rare().waits.lock().await;
    match slot {
        // It has begun another wait and needs no slot.
        _ if waits.begun != queued.begun => Ok(()),
        Some(slot) => {
            *live.rare().slot.lock() = Some(slot);
            record_resume(&engine, &live).await
        }
        None => {
            engine.slots.withdraw(live.spec.id, seat(&live.spec));
            Ok(())
        }
    }
}

/// Has the record say that the body goes on.
async fn record_resume(engine: &Arc<Engine>, live: &Arc<LiveTask>) -> Result<(), Error> {
    let (id, epoch) = (live.spec.id, live.epoch());
    for tries in 0.. {
        let resumed =
            engine.change(id, |_, _| Ok(Intent::Resume), |_, batch| batch.fenced(id, epoch)).await;
        match resumed {
            Ok(_) | Err(Error::Ended { state: TaskState::Running, .. }) => return Ok(()),
            // The body cannot go on before its record does.
            Err(Error::Store(_) | Error::Contended) if !engine.is_closed() => {
                engine.back_off(tries).await;
            }
            Err(error) => {
                // The task has ended meanwhile, and its end has freed no slot.
                live.free_slot();
                return Err(error);
            }
        }
    }
    Ok(())
}

impl Suspension {
    /// Ends the wait: takes a slot again and records that the body goes on.
    pub(crate) async fn end(self) -> Result<(), Error> {
        self.end_within(None).await
    }

    /// Ends the wait and queues for a slot at most as long as `patience`. After
    /// that the body goes on without a slot, and its record says that it waits
    /// until it is granted one.
    pub(crate) async fn end_within(mut self, patience: Option<Duration>) -> Result<(), Error> {
        match self.live.take() {
            Some(live) => {
                let (engine, on) = (self.engine.clone(), self.on);
                let resumed = Box::pin(async move { resume(&engine, &live, on, patience).await });
                complete(&self.engine, resumed).await
            }
            None => Ok(()),
        }
    }
}

impl Drop for Suspension {
    fn drop(&mut self) {
        let Some(live) = self.live.take() else { return };
        if self.engine.is_closed() {
            return;
        }
        let (engine, on) = (self.engine.clone(), self.on);
        self.engine.world.spawn(async move {
            // It fails if the task has ended meanwhile.
            if let Err(error) = resume(&engine, &live, on, None).await {
                tracing::debug!(task = %live.spec.id, %error, "a dropped wait was not resumed");
            }
        });
    }
}

/// A wait of a body for other tasks that happens outside its future. It lasts
/// until this is dropped. A body may have several, and goes on after the last.
#[must_use = "the wait is over once this is dropped"]
#[derive(Debug)]
pub struct ExternalWait(#[expect(dead_code, reason = "its drop ends the wait")] Suspension);

/// Suspends the body of a task; `None` if no body of it is in this process.
pub(crate) async fn external_wait(
    engine: &Arc<Engine>,
    task: TaskId,
) -> Result<Option<ExternalWait>, Error> {
    let live = engine.live_task(task).filter(|live| live.epoch() != 0);
    let Some(live) = live else { return Ok(None) };
    match suspend(engine, &live, WaitingOn::Children).await {
        Ok(suspension) => Ok(Some(ExternalWait(suspension))),
        Err(Error::Ended { .. } | Error::LeaseLost(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
