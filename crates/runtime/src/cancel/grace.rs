//! Time limits of bodies: the grace after a cancel, and the timeout of a task.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::TaskId;

use super::cascade::ReachedTask;
use crate::engine::Engine;
use crate::engine::live_task::{Eviction, LiveTask};

/// How long an aborted body may take to yield before it is reported as
/// unresponsive.
const YIELD_PATIENCE: Duration = Duration::from_secs(1);

/// Aborts the bodies that do not stop within the grace, and marks those that do
/// not yield after that as unresponsive. `below` is a common ancestor, if there
/// is one.
pub(super) fn enforce_grace(
    engine: &Arc<Engine>,
    reached: Vec<ReachedTask>,
    grace: Duration,
    below: Option<TaskId>,
) {
    let bodies: Vec<Weak<LiveTask>> = reached
        .into_iter()
        .filter_map(|reached| reached.live.as_ref().map(Arc::downgrade))
        .collect();
    if bodies.is_empty() {
        return;
    }
    let (weak, world) = (Arc::downgrade(engine), engine.world.clone());
    let above = below.and_then(|id| engine.live_task(id)).map(|live| Arc::downgrade(&live));
    engine.world.spawn(async move {
        let all_gone = async {
            // A task ends no earlier than its descendants, so after the
            // ancestor there is mostly nothing left to wait for.
            if let Some(above) = above {
                until_removed(above, weak.clone()).await;
            }
            for body in &bodies {
                until_removed(body.clone(), weak.clone()).await;
            }
        };
        // This ends early if all bodies stop early.
        select(pin!(all_gone), pin!(world.sleep(grace))).await;
        let left: Vec<_> = still_live(&weak, bodies).collect();
        if left.is_empty() {
            return;
        }
        for live in &left {
            live.evict(Eviction::Abort);
        }
        let left = left.iter().map(Arc::downgrade).collect();
        world.sleep(YIELD_PATIENCE).await;
        for live in still_live(&weak, left) {
            if !live.is_settling() {
                live.set_unresponsive();
            }
        }
    });
}

/// Drops the body of a task once its timeout is over.
pub(crate) fn expire_after(engine: &Arc<Engine>, live: &Arc<LiveTask>, timeout: Duration) {
    let (weak, live, world) = (Arc::downgrade(engine), Arc::downgrade(live), engine.world.clone());
    engine.world.spawn(async move {
        let (over, removed) =
            (pin!(world.sleep(timeout)), pin!(until_removed(live.clone(), weak.clone())));
        if let Either::Left(_) = select(over, removed).await {
            for live in still_live(&weak, vec![live]) {
                live.evict(Eviction::Expire);
            }
        }
    });
}

/// Resolves once this entry is no longer the current one of its task.
async fn until_removed(live: Weak<LiveTask>, engine: Weak<Engine>) {
    let is_current =
        |live: &Arc<LiveTask>| engine.upgrade().is_some_and(|engine| engine.is_current(live));
    while let Some(live) = live.upgrade().filter(is_current) {
        let changed = live.changed().notified();
        if !is_current(&live) {
            return;
        }
        changed.await;
    }
}

/// Those of the entries that are the current ones of their tasks.
fn still_live(
    engine: &Weak<Engine>,
    bodies: Vec<Weak<LiveTask>>,
) -> impl Iterator<Item = Arc<LiveTask>> {
    let engine = engine.upgrade();
    bodies.into_iter().filter_map(move |live| {
        let live = live.upgrade()?;
        engine.as_ref()?.is_current(&live).then_some(live)
    })
}
