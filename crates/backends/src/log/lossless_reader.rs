//! A reader of a log that must miss nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// The position of a dropped reader: past everything.
const GONE: u64 = u64::MAX;

/// A reader that must miss nothing, made before the command starts.
///
/// The log drops no output that the reader has not read. Instead the command is held up,
/// as by a full pipe, until the reader has read on or is dropped.
#[derive(Debug)]
pub struct LosslessReader(ReaderPosition);

/// The position of a lossless reader, for the writer.
#[derive(Clone, Debug)]
pub(crate) struct ReaderPosition(Arc<ReaderState>);

#[derive(Debug, Default)]
struct ReaderState {
    read: AtomicU64,
    moved: Notify,
}

impl Default for LosslessReader {
    fn default() -> Self {
        Self::new()
    }
}

impl LosslessReader {
    /// A reader at the beginning of a log.
    pub fn new() -> Self {
        Self(ReaderPosition(Arc::default()))
    }

    pub(crate) fn hold(&self) -> ReaderPosition {
        self.0.clone()
    }

    /// Lets the log drop everything before this position.
    pub(crate) fn has_read(&self, up_to: u64) {
        self.0.0.read.fetch_max(up_to.min(GONE - 1), Ordering::AcqRel);
        self.0.0.moved.notify_waiters();
    }
}

impl Drop for LosslessReader {
    fn drop(&mut self) {
        self.0.0.read.store(GONE, Ordering::Release);
        self.0.0.moved.notify_waiters();
    }
}

impl ReaderPosition {
    /// The position up to which the reader has read.
    pub(crate) fn read(&self) -> u64 {
        self.0.read.load(Ordering::Acquire)
    }

    /// Resolves once the reader has read up to this position, or is dropped.
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
