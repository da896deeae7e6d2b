//! The order in which calls of one answer send agents off: each after those
//! before it, and whoever names or lists tasks after all of them.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The calls of one answer that send agents off. Small, because whoever waits in
/// a call keeps it.
#[derive(Clone, Debug)]
pub(crate) struct SpawnOrder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Those that have not done so yet.
    open: Mutex<Vec<usize>>,
    changed: Notify,
}

/// Where a call stands among them.
#[derive(Clone, Debug)]
pub(crate) struct SpawnTurn {
    spawn_order: SpawnOrder,
    number: usize,
}

impl SpawnOrder {
    /// The calls of these numbers.
    pub(crate) fn new(calls: Vec<usize>) -> Self {
        Self(Arc::new(Inner { open: Mutex::new(calls), changed: Notify::new() }))
    }

    /// Where the call of this number stands.
    pub(crate) fn turn(&self, number: usize) -> SpawnTurn {
        SpawnTurn { spawn_order: self.clone(), number }
    }

    /// The call of this number has sent its agent off, or will not.
    pub(crate) fn sent(&self, number: usize) {
        self.0.open.lock().retain(|call| *call != number);
        self.0.changed.notify_waiters();
    }
}

impl SpawnTurn {
    /// Resolves when the calls before this one have sent their agents off.
    pub(crate) async fn comes(&self) {
        loop {
            let changed = self.spawn_order.0.changed.notified();
            if self.spawn_order.0.open.lock().iter().all(|call| *call >= self.number) {
                return;
            }
            changed.await;
        }
    }

    /// Those after this one may send theirs.
    pub(crate) fn passes(&self) {
        self.spawn_order.sent(self.number);
    }
}
