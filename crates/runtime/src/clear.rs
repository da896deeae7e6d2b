//! Clearing away what a dropped body has left outside this process, before
//! its end is told.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;

use crate::backend::Clearing;
use crate::cell::{Cell, Eviction};
use crate::context::Context;
use crate::engine::Engine;

impl Engine {
    /// Has the backend of a task clear away what is left of its body.
    pub(crate) async fn clear(self: &Arc<Self>, cell: &Arc<Cell>, why: Eviction) {
        let why = match why {
            Eviction::Abort => Clearing::Aborted,
            Eviction::Expire => Clearing::Expired,
            Eviction::Release => Clearing::Released,
            // Somebody else has the task: its body here is in the way.
            Eviction::Abandon => Clearing::Aborted,
        };
        let Some(backend) = self.kinds.get(&cell.spec.kind) else { return };
        let cx = Context::new(self.clone(), cell.clone());
        let cleared = AssertUnwindSafe(async { backend.clear(&cx, why).await });
        if cleared.catch_unwind().await.is_err() {
            tracing::warn!(task = %cell.id(), "a backend panicked when it was asked to clear");
        }
    }

    /// Does so for a body whose end nobody tells. When the runtime closes, its
    /// backends are told all at once.
    pub(crate) fn clear_later(self: &Arc<Self>, cell: &Arc<Cell>) {
        if self.is_closed() || !self.kinds.contains_key(&cell.spec.kind) {
            return;
        }
        let (engine, cell) = (self.clone(), cell.clone());
        self.world.spawn(async move { engine.clear(&cell, Eviction::Abandon).await });
    }
}
