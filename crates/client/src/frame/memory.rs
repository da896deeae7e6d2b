//! Room for frames that arrive: how many bytes of all of them are in memory at
//! once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many bytes a permit stands for.
const UNIT: usize = 1 << 10;

/// Room that several readers of frames share. Bytes that find none are left in
/// their sockets until another frame has been dealt with.
#[derive(Clone, Debug)]
pub struct FrameMemory(Arc<Semaphore>);

/// Room that is taken until this is dropped.
#[derive(Debug, Default)]
#[must_use = "the room is given back when this is dropped"]
pub struct FramePermit(Option<OwnedSemaphorePermit>);

impl FrameMemory {
    /// Room for so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / UNIT)))
    }

    /// Waits for room for more bytes, and adds it to what is taken.
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
