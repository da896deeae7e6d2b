//! Where a store keeps its data between two runtimes.

use offshoot::Memory;
use offshoot_store::OpenStore;

/// What outlives a runtime that is dropped or dies.
pub trait Disk {
    /// The store on it.
    type Store: OpenStore;

    /// The store on what is there. The runtime before has been dropped.
    fn store(&self) -> Self::Store;
}

/// A memory store, shared by the runtimes that are opened on it.
#[derive(Debug, Default)]
pub struct OnMemory(Memory);

impl Disk for OnMemory {
    type Store = Memory;

    fn store(&self) -> Memory {
        self.0.clone()
    }
}

/// Runs each test, an `async fn(&impl Disk)`, on every store, under virtual
/// time. A store is added by one more block here.
macro_rules! on_every_store {
    ($($test:ident),* $(,)?) => {
        mod on_memory {
            $(
                #[tokio::test(start_paused = true)]
                async fn $test() {
                    super::$test(&crate::harness::OnMemory::default()).await;
                }
            )*
        }
    };
}
pub(crate) use on_every_store;
