//! The place of a reader that must miss nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Where a reader stands that is gone: past everything.
const GONE: u64 = u64::MAX;

/// The place of a reader that must miss nothing, taken before the command
/// starts. What the reader has not read is not dropped from the log; the
/// command is held up instead, as by a full pipe, until the reader has read on
/// or the seat is dropped.
#[derive(Debug)]
pub struct Seat(Hold);

/// A seat as the writer sees it.
#[derive(Clone, Debug)]
pub(crate) struct Hold(Arc<Place>);

#[derive(Debug, Default)]
struct Place {
    read: AtomicU64,
    moved: Notify,
}

impl Default for Seat {
    fn default() -> Self {
        Self::new()
    }
}

impl Seat {
    /// A seat at the beginning of a log.
    pub fn new() -> Self {
        Self(Hold(Arc::default()))
    }

    pub(crate) fn hold(&self) -> Hold {
        self.0.clone()
    }

    /// Lets go of everything before this.
    pub(crate) fn has_read(&self, up_to: u64) {
        self.0.0.read.fetch_max(up_to.min(GONE - 1), Ordering::AcqRel);
        self.0.0.moved.notify_waiters();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.read.store(GONE, Ordering::Release);
        self.0.0.moved.notify_waiters();
    }
}

impl Hold {
    /// How far the reader has read.
    pub(crate) fn read(&self) -> u64 {
        self.0.read.load(Ordering::Acquire)
    }

    /// Resolves once the reader has read so far, or is gone.
    pub(crate) async fn passed(&self, place: u64) {
        loop {
            let mut moved = std::pin::pin!(self.0.moved.notified());
            // From here on no move is missed.
            moved.as_mut().enable();
            if self.read() >= place {
                return;
            }
            moved.await;
        }
    }
}
