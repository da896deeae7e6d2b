//! The order in which the calls of one answer spawn agents.
//!
//! Each spawn waits for the spawns before it, and a call that names or lists tasks
//! waits for all spawns before it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The spawning calls of one answer. It is small, because each waiting call keeps it.
#[derive(Clone, Debug)]
pub(crate) struct SpawnOrder(Arc<State>);

#[derive(Debug)]
struct State {
    /// The numbers of the calls that have not spawned yet.
    open: Mutex<Vec<usize>>,
    changed: Notify,
}

/// The position of one call in the order.
#[derive(Clone, Debug)]
pub(crate) struct SpawnTurn {
    order: SpawnOrder,
    number: usize,
}

impl SpawnOrder {
    /// Creates an order of the calls with these numbers.
    pub(crate) fn new(calls: Vec<usize>) -> Self {
        Self(Arc::new(State { open: Mutex::new(calls), changed: Notify::new() }))
    }

    /// The position of the call with this number.
    pub(crate) fn turn(&self, number: usize) -> SpawnTurn {
        SpawnTurn { order: self.clone(), number }
    }

    /// Marks a call as done: it has spawned its agent, or will not.
    pub(crate) fn finish(&self, number: usize) {
        self.0.open.lock().retain(|call| *call != number);
        self.0.changed.notify_waiters();
    }
}

impl SpawnTurn {
    /// Waits until the calls before this one have spawned their agents.
    pub(crate) async fn wait(&self) {
        loop {
            let changed = self.order.0.changed.notified();
            if self.order.0.open.lock().iter().all(|call| *call >= self.number) {
                return;
            }
            changed.await;
        }
    }

    /// Marks the call as done, so that the calls after it continue.
    pub(crate) fn finish(&self) {
        self.order.finish(self.number);
    }
}
