//! Cancel: the request is durable on the root before anything else happens,
//! then goes down, owners before what they own, in bounded batches.

mod cascade;
mod end;
mod grace;
mod shutdown;
mod sweep;

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Cancel, TooLarge};

pub(crate) use self::cascade::cascade_fully;
pub(crate) use self::end::{end, end_unacknowledged, end_unstarted, finish_settle};
pub(crate) use self::grace::expire_after;
pub(crate) use self::shutdown::{shut_down, stop_late};
pub use self::sweep::SweepRequest;
pub(crate) use self::sweep::{SweepTarget, finish_sweep};
use crate::access;
use crate::engine::handle::TaskRef;
use crate::environment::BoxFuture;
use crate::error::Error;

/// A cancel request for a task and its descendants. Await it: it resolves with
/// the number of live tasks that it reached, once it is durable on all of them.
#[must_use = "a cancel does nothing until it is awaited"]
#[derive(Debug)]
pub struct CancelRequest {
    task: TaskRef,
    reason: Arc<str>,
    grace: Option<Duration>,
}

impl CancelRequest {
    pub(crate) fn new(task: TaskRef, reason: &str) -> Self {
        Self { task, reason: reason.into(), grace: None }
    }

    /// Sets how long bodies may take to stop before they are aborted. Zero
    /// aborts them at once.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }
}

impl IntoFuture for CancelRequest {
    type Output = Result<usize, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { task, reason, grace } = self;
            let engine = task.engine;
            engine.check_open()?;
            TooLarge::check("reason", reason.len(), engine.config.sizes.text)?;
            let target = access::touchable(&engine, &task.viewer, task.spec.id).await?;
            let cancel = Arc::new(Cancel {
                by: task.viewer.caller.into(),
                reason,
                at: engine.now(),
                grace: grace.or(target.spec.terms.grace).unwrap_or(engine.config.grace),
            });
            cascade::cancel_tree(&engine, target, cancel).await
        })
    }
}
