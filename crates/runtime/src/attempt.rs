//! Attempts: queued tasks are started in their turn, and bodies are polled to
//! their end.

mod drive;

use std::sync::Arc;

use offshoot_core::{Intent, Lane, TaskState};

use self::drive::Drive;
use crate::cancel;
use crate::engine::body::TaskBody;
use crate::engine::handle::Context;
use crate::engine::live_task::{Eviction, LiveTask};
use crate::engine::slots::Slot;
use crate::engine::{Engine, seat};
use crate::error::Error;

/// Begins to poll the body of a durable task that has its slot.
pub(crate) fn launch<B: TaskBody>(engine: &Arc<Engine>, live: Arc<LiveTask>, body: B, slot: Slot) {
    if !engine.config.caps.executing.is_none() {
        *live.rare().slot.lock() = Some(slot);
    }
    if engine.is_closed() {
        // The other bodies were dropped before this one began.
        live.evict(Eviction::Abandon);
    }
    if let Some(timeout) = live.spec.terms.timeout {
        cancel::expire_after(engine, &live, timeout);
    }
    if engine.is_draining() {
        cancel::stop_late(engine, live.clone());
    }
    let context = Context { engine: engine.clone(), live };
    engine.world.spawn(Drive::new(context, body));
}

/// Queues a task for a slot; its body starts in its turn.
pub(crate) fn queue<B: TaskBody>(engine: &Arc<Engine>, live: Arc<LiveTask>, body: B) {
    let (id, seat) = (live.spec.id, seat(&live.spec));
    let starter = engine.clone();
    let on_grant = move |slot| {
        let engine = starter.clone();
        starter.world.spawn(async move { start_queued(engine, live, body, slot).await });
    };
    engine.slots.queue(id, seat, Lane::Starting, Box::new(on_grant));
}

/// Starts a queued task that has its slot, unless it has ended meanwhile.
async fn start_queued<B: TaskBody>(engine: Arc<Engine>, live: Arc<LiveTask>, body: B, slot: Slot) {
    let id = live.spec.id;
    for tries in 0.. {
        if engine.is_closed() {
            return;
        }
        let started = engine.change(
            id,
            |task, _| match task.cancel {
                Some(_) => Err(Error::Cancelled),
                None => Ok(Intent::Start(engine.worker)),
            },
            |_, batch| batch,
        );
        let started = match started.await {
            Ok(task) => Some(task),
            // If an earlier try was written without an answer, the record has
            // this worker's lease.
            Err(_) => match engine.store.task(id).await {
                Ok(Some(task)) if task.lease.worker == Some(engine.worker) => Some(task),
                Ok(Some(task)) if task.state == TaskState::Queued => {
                    // The cancel may have found the task before it was queued.
                    if task.cancel.is_some() && cancel::end_unstarted(&engine, id).await {
                        return;
                    }
                    None
                }
                // The task has ended in the queue, perhaps before this entry
                // was made.
                Ok(last) if last.as_ref().is_none_or(|last| !last.is_live()) => {
                    return engine.remove_passive(id, last.as_ref());
                }
                Ok(_) => return,
                Err(_) => None,
            },
        };
        if let Some(task) = started {
            live.set_epoch(task.lease.epoch);
            if task.crashes > 0 {
                live.note_crashes();
            }
            launch(&engine, live.clone(), body, slot);
            // If the task has ended before the answer came, its entry is gone,
            // and nothing else could reach the body.
            if !engine.is_current(&live) {
                live.evict(Eviction::Abandon);
            }
            return;
        }
        engine.back_off(tries).await;
    }
}
