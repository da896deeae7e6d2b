//! The handles on a task: what they hold. Their operations are in
//! `context.rs` and `task_ref.rs`, above the modules that carry them out.

use std::sync::Arc;

use offshoot_core::{Caller, Owner, Spec, Visibility};

use super::Engine;
use super::live_task::LiveTask;

/// The handle that a body gets on its own task: its cancellation token, its
/// inbox, its journal, and the tasks it owns. Cheap to clone.
///
/// Every write carries the lease of the attempt, so an attempt that has lost
/// its lease cannot change the task.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) engine: Arc<Engine>,
    pub(crate) live: Arc<LiveTask>,
}

/// A handle on a task, for the host, a session or another task.
///
/// It allows what its holder may do. Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct TaskRef {
    pub(crate) engine: Arc<Engine>,
    pub(crate) spec: Arc<Spec>,
    pub(crate) viewer: Viewer,
}

/// The caller on whose behalf a handle acts.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    pub(crate) caller: Caller,
    pub(crate) visibility: Visibility,
    /// The task whose body the caller is, if it is one.
    pub(crate) live: Option<Arc<LiveTask>>,
}

impl Viewer {
    pub(crate) fn new(caller: Caller, visibility: Visibility) -> Self {
        Self { caller, visibility, live: None }
    }

    pub(crate) fn host() -> Self {
        Self::new(Caller::Host, Visibility::Subtree)
    }

    pub(crate) fn task(live: Arc<LiveTask>) -> Self {
        let caller = Caller::Task(live.spec.id);
        Self { caller, visibility: live.spec.visibility, live: Some(live) }
    }

    /// Whether the owner takes no tasks because the caller's own body was
    /// cancelled. The caller then gets [`Error::Cancelled`](crate::Error).
    pub(crate) fn is_stopping(&self, owner: Owner) -> bool {
        let Some(live) = &self.live else { return false };
        live.is_cancelled() || (owner == Owner::Task(live.id()) && live.epoch() != 0)
    }
}
