//! The conformance suite that every store must pass.
//!
//! A store provides a [`Fixture`], which opens it on the same data repeatedly.
//! [`conformance!`](crate::conformance!) turns every case into a test:
//!
//! ```
//! # // The tests are only compiled here; `tests/conformance.rs` runs them.
//! use std::sync::Arc;
//! use offshoot_store::conformance::Fixture;
//! use offshoot_store::{Memory, ReadFuture, Store};
//!
//! struct InMemory(Memory);
//!
//! impl Fixture for InMemory {
//!     fn open(&self) -> ReadFuture<Arc<dyn Store>> {
//!         ReadFuture::ready(Ok(Arc::new(self.0.clone())))
//!     }
//! }
//!
//! offshoot_store::conformance!(InMemory(Memory::new()));
//! ```
//!
//! A case is an `async fn` over a [`StoreWorld`]: a store, a clock and a source of ids that are
//! the same in every run. Each file has the cases about one noun. A case's name is the
//! sentence that it proves, after the number of the semantics rule, if there is one.

// A case fails by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod acks;
mod atomicity;
mod blobs;
mod caps;
mod cases;
mod concurrency;
mod counters;
mod events;
mod faults;
mod fence;
mod fixture;
mod guards;
mod history;
mod inbox;
mod keys;
mod messages;
mod names;
mod namesakes;
mod paging;
mod populated;
mod property;
mod questions;
mod recipients;
mod removal;
mod reopen;
mod retention;
mod scenario;
mod sessions;
mod snapshot;
mod spawn;
mod steps;
mod task_counts;
mod timers;
mod transitions;
mod world;

pub use cases::run;
pub use fixture::{Fixture, WorkerLimit};
pub use snapshot::StoreSnapshot;
pub use world::StoreWorld;
