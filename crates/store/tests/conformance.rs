//! The memory store passes the suite that every store must pass.

use std::sync::Arc;

use offshoot_store::conformance::Fixture;
use offshoot_store::{Memory, Read, Store};

struct InMemory(Memory);

impl Fixture for InMemory {
    fn open(&self) -> Read<Arc<dyn Store>> {
        Read::ready(Ok(Arc::new(self.0.clone())))
    }
}

offshoot_store::conformance!(InMemory(Memory::new()));
