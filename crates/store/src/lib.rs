//! Record storage: the store contract, the precondition checks, the in-memory task index,
//! and the memory store.
//!
//! A store decides nothing. It takes a [`Batch`] of decisions made by `offshoot-core`,
//! checks their preconditions, and makes all of them durable or none.

mod batch;
mod check;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
#[cfg(feature = "conformance")]
mod faulty;
mod future;
mod memory;
mod query;
mod store;
mod task_index;
#[cfg(feature = "conformance")]
mod wrapper;

pub use batch::{
    Ack, Batch, Counter, CounterChange, EndWrite, Fence, Guard, RowRef, SpawnWrite, Strictness,
    Write,
};
pub use check::{SentMessage, StoreView, check};
pub use error::{CommitError, Conflict, StoreError};
#[cfg(feature = "conformance")]
pub use faulty::{FaultPlan, FaultPoint, FaultyStore, InjectedFault};
pub use future::{ClosedResult, CommitFuture, ReadFuture, StoreFuture};
pub use memory::Memory;
pub use query::{
    CursorExpired, EventPage, HistoryPage, MessagePosition, Namesakes, Order, Page, PageCursor,
    PendingRow, TaskQuery, TaskScope,
};
pub use store::{ClaimKind, OpenStore, Store, StoreClaim};
pub use task_index::{RemovalKind, TaskIndex};
#[cfg(feature = "conformance")]
pub use wrapper::StoreWrapper;
