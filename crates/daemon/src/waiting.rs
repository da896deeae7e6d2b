//! Connections from which no request has come yet. Each has a file open, and
//! files are what a daemon runs out of first. So only so many are kept, and the
//! one that has waited longest is closed for a new one: a client that finds its
//! connection closed makes another and asks again.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// The connections that wait, the longest waiting first.
#[derive(Debug)]
pub(crate) struct WaitingConnections {
    most: usize,
    line: Arc<Mutex<Line>>,
}

#[derive(Debug, Default)]
struct Line {
    next: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// The place of one connection among those that wait.
#[derive(Debug)]
pub(crate) struct WaitingConnection {
    number: u64,
    /// Whether another connection was closed for this one.
    replaces: bool,
    closed: CancellationToken,
    line: Arc<Mutex<Line>>,
}

impl WaitingConnections {
    /// At most so many.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, line: Arc::default() }
    }

    /// Adds a connection. If there are too many, the one that has waited longest
    /// is closed.
    pub(crate) fn enter(&self) -> WaitingConnection {
        let mut line = self.line.lock();
        let (number, closed) = (line.next, CancellationToken::new());
        line.next += 1;
        line.connections.insert(number, closed.clone());
        let replaces = line.connections.len() > self.most && line.close_first();
        WaitingConnection { number, replaces, closed, line: self.line.clone() }
    }

    /// Closes the connection that has waited longest; whether there is one.
    pub(crate) fn close_one(&self) -> bool {
        self.line.lock().close_first()
    }
}

impl Line {
    fn close_first(&mut self) -> bool {
        let first = self.connections.pop_first();
        first.inspect(|(_, closed)| closed.cancel()).is_some()
    }
}

impl WaitingConnection {
    /// Whether another connection was closed for this one.
    pub(crate) fn replaces_another(&self) -> bool {
        self.replaces
    }

    /// Resolves when the connection is to be closed.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Drop for WaitingConnection {
    fn drop(&mut self) {
        self.line.lock().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_that_has_waited_longest_is_closed_for_a_new_one() {
        let waiting = WaitingConnections::new(2);
        let (first, second) = (waiting.enter(), waiting.enter());
        assert!(!first.closed.is_cancelled());
        assert!(!second.replaces_another());
        let third = waiting.enter();
        assert!(third.replaces_another());
        assert!(first.closed.is_cancelled() && !second.closed.is_cancelled());
        // One whose request has come does not wait.
        drop(second);
        let fourth = waiting.enter();
        assert!(!third.closed.is_cancelled());
        assert!(waiting.close_one() && third.closed.is_cancelled());
        assert!(waiting.close_one() && fourth.closed.is_cancelled());
        assert!(!waiting.close_one());
    }
}
