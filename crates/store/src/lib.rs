//! Where Offshoot keeps its records: the contract every store fulfils, the
//! index of live tasks they share, and the memory store.
//!
//! A store decides nothing. It takes a [`Batch`] of decisions made by
//! `offshoot-core`, checks the preconditions they were made under, and makes
//! all of them durable or none.

#[cfg(feature = "conformance")]
mod around;
mod batch;
#[cfg(feature = "conformance")]
pub mod conformance;
mod directory;
mod error;
#[cfg(feature = "conformance")]
mod faulty;
mod memory;
mod query;
mod ready;
mod store;

#[cfg(feature = "conformance")]
pub use around::Around;
pub use batch::{Ack, Batch, Count, Counter, End, Fence, Guard, RowRef, Spawn, Strictness, Write};
pub use directory::{Directory, Removal};
pub use error::{CommitError, Conflict, StoreError};
#[cfg(feature = "conformance")]
pub use faulty::{At, Fault, Faults, Faulty};
pub use memory::Memory;
pub use query::{
    EventPage, Expired, HistoryPage, Namesakes, Order, Page, PageCursor, Pending, Standing,
    TaskQuery, Within,
};
pub use ready::{Abandoned, Answer, Commit, Read};
pub use store::{Holding, OpenStore, Store, Tenure};
