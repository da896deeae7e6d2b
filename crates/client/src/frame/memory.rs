//! The memory of frames that arrive: a bound on the bytes of all of them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bytes of one semaphore permit.
const UNIT: usize = 1 << 10;

/// The memory that several readers of frames share. While it is used up, bytes stay in
/// their sockets.
#[derive(Clone, Debug)]
pub struct FrameMemory(Arc<Semaphore>);

/// The memory of one frame; dropping it gives the memory back.
#[derive(Debug, Default)]
#[must_use = "the memory is given back when this is dropped"]
pub struct FramePermit(Option<OwnedSemaphorePermit>);

impl FrameMemory {
    /// Memory for so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / UNIT)))
    }

    /// Waits for memory for more bytes, and adds it to a permit.
    pub(crate) async fn take(&self, bytes: usize, taken: &mut FramePermit) {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        if let Ok(more) = self.0.clone().acquire_many_owned(units).await {
            match &mut taken.0 {
                Some(taken) => taken.merge(more),
                None => taken.0 = Some(more),
            }
        }
    }
}
