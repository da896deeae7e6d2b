//! The suite that every store must pass.
//!
//! A store brings a [`Fixture`], which says how to open it on the same data
//! again and again, and [`conformance!`](crate::conformance!) turns every case
//! into a test:
//!
//! ```
//! # // The tests are only compiled here; `tests/conformance.rs` runs them.
//! use std::sync::Arc;
//! use offshoot_store::conformance::Fixture;
//! use offshoot_store::{Memory, Read, Store};
//!
//! struct InMemory(Memory);
//!
//! impl Fixture for InMemory {
//!     fn open(&self) -> Read<Arc<dyn Store>> {
//!         Read::ready(Ok(Arc::new(self.0.clone())))
//!     }
//! }
//!
//! offshoot_store::conformance!(InMemory(Memory::new()));
//! ```
//!
//! A case is an `async fn` over a [`World`]: a store, a clock and a source of
//! ids that are the same in every run. Cases come one noun a file, and a
//! case's name is the sentence it proves, after the line of the semantics that
//! says so where there is one.

// A case that cannot go on is a case that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod acks;
mod atomicity;
mod blobs;
mod caps;
mod cases;
mod concurrency;
mod counters;
mod counts;
mod events;
mod faults;
mod fence;
mod fixture;
mod guards;
mod heirs;
mod history;
mod inbox;
mod keys;
mod messages;
mod names;
mod namesakes;
mod paging;
mod property;
mod questions;
mod removal;
mod reopen;
mod retention;
mod script;
mod sessions;
mod snapshot;
mod spawn;
mod stage;
mod steps;
mod timers;
mod transitions;
mod world;

pub use cases::run;
pub use fixture::{Fixture, Holding};
pub use snapshot::Snapshot;
pub use world::World;
