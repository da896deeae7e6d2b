//! Runs the conformance suite on the memory store.

use std::sync::Arc;

use offshoot_store::conformance::Fixture;
use offshoot_store::{Memory, ReadFuture, Store};

struct InMemory(Memory);

impl Fixture for InMemory {
    fn open(&self) -> ReadFuture<Arc<dyn Store>> {
        ReadFuture::ready(Ok(Arc::new(self.0.clone())))
    }
}

offshoot_store::conformance!(InMemory(Memory::new()));
