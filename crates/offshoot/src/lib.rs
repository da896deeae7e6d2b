//! Background sub-agents that are never lost.

pub use offshoot_core as core;
pub use offshoot_runtime::*;
pub use offshoot_store as store;
pub use offshoot_store::Memory;
