//! A bounded queue whose items are taken in groups.
//!
//! The writer does not wait for more items. Requests that arrive during a transaction share
//! the next one, so a higher load leads to larger groups per fsync.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

#[derive(Debug)]
pub(crate) struct RequestQueue<T> {
    state: Mutex<QueueState<T>>,
    filled: Condvar,
    emptied: Condvar,
    room: usize,
}

#[derive(Debug)]
struct QueueState<T> {
    waiting: VecDeque<T>,
    takers: usize,
    closed: bool,
}

impl<T> RequestQueue<T> {
    /// An empty queue. `push` blocks at `room` items.
    pub(crate) fn new(room: usize) -> Self {
        Self {
            state: Mutex::new(QueueState { waiting: VecDeque::new(), takers: 0, closed: false }),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            room: room.max(1),
        }
    }

    /// Appends an item, or returns it if the queue is closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.state.lock();
        while state.waiting.len() >= self.room && !state.closed {
            self.emptied.wait(&mut state);
        }
        if state.closed {
            return Err(item);
        }
        state.waiting.push_back(item);
        let wake = state.takers > 0;
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Waits for items and moves up to `most` of them into `taken`. Returns `false` when
    /// the queue is closed and empty.
    pub(crate) fn take(&self, taken: &mut Vec<T>, most: usize) -> bool {
        let mut state = self.state.lock();
        while state.waiting.is_empty() {
            if state.closed {
                return false;
            }
            state.takers += 1;
            self.filled.wait(&mut state);
            state.takers -= 1;
        }
        let full = state.waiting.len() >= self.room;
        let count = most.min(state.waiting.len());
        taken.extend(state.waiting.drain(..count));
        drop(state);
        if full {
            self.emptied.notify_all();
        }
        true
    }

    /// Drops all items, which closes their reply channels.
    pub(crate) fn clear(&self) {
        let dropped = std::mem::take(&mut self.state.lock().waiting);
        drop(dropped);
        self.emptied.notify_all();
    }

    /// Accepts no more items. Pending items can still be taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn pending_items_are_taken_together_and_in_order() {
        let queue = RequestQueue::new(8);
        (0..5).for_each(|item| queue.push(item).unwrap());
        let mut taken = Vec::new();
        assert!(queue.take(&mut taken, 3));
        assert_eq!(taken, [0, 1, 2]);
        queue.close();
        assert_eq!(queue.push(9), Err(9));
        assert!(queue.take(&mut taken, 3));
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        assert!(!queue.take(&mut taken, 3));
    }

    #[test]
    fn a_full_queue_blocks_push() {
        let queue = Arc::new(RequestQueue::new(1));
        queue.push(0).unwrap();
        let other = queue.clone();
        let pusher = std::thread::spawn(move || other.push(1));
        let mut taken = Vec::new();
        while taken.len() < 2 {
            queue.take(&mut taken, 8);
        }
        assert_eq!(taken, [0, 1]);
        pusher.join().unwrap().unwrap();
    }
}
