//! Connections on which no request has arrived yet.
//!
//! Each has a file open, and files are what a daemon runs out of first. So the
//! daemon keeps a bounded number of them, and closes the one that has waited
//! longest for a new one. A client whose connection is closed connects again.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The waiting connections, at most a fixed number.
#[derive(Debug)]
pub(super) struct WaitingConnections {
    most: usize,
    queue: Arc<Mutex<WaitingQueue>>,
}

/// The waiting connections by their number; the lowest has waited longest.
#[derive(Debug, Default)]
struct WaitingQueue {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// One waiting connection; dropping it ends the wait.
#[derive(Debug)]
pub(super) struct WaitingConnection {
    number: u64,
    /// Whether another connection was closed for this one.
    replaces: bool,
    closed: CancellationToken,
    queue: Arc<Mutex<WaitingQueue>>,
}

impl WaitingConnections {
    pub(super) fn new(most: usize) -> Self {
        Self { most, queue: Arc::default() }
    }

    /// Adds a connection. If there are too many, it closes the one that has waited
    /// longest.
    pub(super) fn enter(&self) -> WaitingConnection {
        let mut queue = self.queue.lock();
        let (number, closed) = (queue.next, CancellationToken::new());
        queue.next += 1;
        queue.connections.insert(number, closed.clone());
        let replaces = queue.connections.len() > self.most && queue.close_first();
        WaitingConnection { number, replaces, closed, queue: self.queue.clone() }
    }

    /// Closes the connection that has waited longest; whether there is one.
    pub(super) fn close_one(&self) -> bool {
        self.queue.lock().close_first()
    }
}

impl WaitingQueue {
    fn close_first(&mut self) -> bool {
        let first = self.connections.pop_first();
        first.inspect(|(_, closed)| closed.cancel()).is_some()
    }
}

impl WaitingConnection {
    /// Whether another connection was closed for this one.
    pub(super) fn replaces_another(&self) -> bool {
        self.replaces
    }

    /// Resolves when the connection is to be closed.
    pub(super) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Drop for WaitingConnection {
    fn drop(&mut self) {
        self.queue.lock().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_waiting_connection_is_closed_for_a_new_one() {
        let waiting = WaitingConnections::new(2);
        let (first, second) = (waiting.enter(), waiting.enter());
        assert!(!first.closed.is_cancelled());
        assert!(!second.replaces_another());
        let third = waiting.enter();
        assert!(third.replaces_another());
        assert!(first.closed.is_cancelled() && !second.closed.is_cancelled());
        // A connection whose request has arrived does not wait.
        drop(second);
        let fourth = waiting.enter();
        assert!(!third.closed.is_cancelled());
        assert!(waiting.close_one() && third.closed.is_cancelled());
        assert!(waiting.close_one() && fourth.closed.is_cancelled());
        assert!(!waiting.close_one());
    }
}
