//! Background sub-agents that are never lost.
//!
//! Spawn tasks, keep working, and get every result: across turns, panics,
//! dropped waiters and `kill -9`. A task is durable before its body is polled,
//! and its result is durable before a waiter is notified.
//!
//! # A first task
//! ```
//! use offshoot::{BodyError, Memory, Runtime};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), offshoot::Error> {
//! let runtime = Runtime::builder(Memory::new()).open().await?;
//! let session = runtime.session("main").await?;
//!
//! let sum = session
//!     .spawn_ephemeral(|_cx| async { Ok::<_, BodyError>(2 + 2) })
//!     .name("sum")
//!     .await?;
//! assert_eq!(sum.wait().await?.decode::<u32>()?, 4);
//! # Ok(())
//! # }
//! ```
//!
//! # Main types
//! - [`Runtime`] opens on a store and recovers by itself what an earlier
//!   process left. [`Session`] owns tasks, an inbox and a history.
//! - [`Kind`] makes a typed function a kind of task that survives a crash:
//!   resumable, idempotent, or lost with notice. Closures
//!   ([`Session::spawn_ephemeral`]) are lost with their process, and say so.
//! - [`Context`] has the tools of a body: its cancellation token, inbox, journal
//!   ([`Context::step`]), progress, questions, and the tasks it owns.
//! - [`TaskRef`] waits, watches, sends, peeks, cancels. [`InboxRows`] are
//!   the unread rows of an inbox.
//! - `agents` (with the feature of that name) makes agents a kind of task: a
//!   durable turn loop over a model, with tools; `models` has the models.
//! - `tools`, `profiles`, `backends` and `sandbox` (with the feature `tools`) are
//!   what agents work with: files, commands, pages, and what confines them.
//! - [`Memory`] and [`Sqlite`] are stores. [`core`](mod@core) has the rules; the
//!   records are here, too. Import by name: a glob would bring in `core` for
//!   the standard one.
//!
//! # How a result travels
//! ```text
//!  spawn ──► admitted ──► record committed ──► body polled under a lease
//!                                                    │ returns, fails, panics,
//!                                                    │ is stopped, or dies
//!                                                    ▼
//!            ┌────────────── one commit ──────────────────────┐
//!            │ record with its outcome · the owner's inbox row │
//!            │ · the owners that waited for nothing else       │
//!            └────────────────────────┬────────────────────────┘
//!                                     ▼
//!           waiters and owner are notified ──► drain ──► ack, or append to
//!                                              a history and ack in one commit
//! ```
//! There is no second path: watching, listing and peeking read records, and
//! reading never acknowledges.

#[cfg(feature = "agents")]
pub use offshoot_agent as agents;
#[cfg(feature = "tools")]
pub use offshoot_backends as backends;
pub use offshoot_core as core;
#[cfg(feature = "tools")]
pub use offshoot_dialects as dialects;
#[cfg(feature = "agents")]
pub use offshoot_models as models;
#[cfg(feature = "tools")]
pub use offshoot_profiles as profiles;
#[cfg(feature = "tools")]
pub use offshoot_sandbox as sandbox;
#[cfg(feature = "tools")]
pub use offshoot_tools as tools;
// The types of the runtime.
pub use offshoot_core::{
    Activity, ActivityKind, Blob, Block, BlockKind, Caller, Cancel, Canceller, CapReached,
    Capabilities, Caps, Ceiling, Change, Cursor, DeliveryMode, Event, Failure, FailureKind,
    InboxMessage, Lineage, MessageId, MessageState, Name, NameError, Outcome, Owner, Payload,
    PayloadError, Phase, Progress, Question, QuestionKind, Receipt, Recovery, Resolution,
    Retention, Row, RowBody, RowId, RunId, SessionBusy, SessionId, Sizes, Space, SpawnOrigin, Spec,
    Stamp, Task, TaskCounts, TaskId, TaskState, TooLarge, Visibility, WaitingOn, Wake, digest,
};
pub use offshoot_runtime::*;
#[cfg(feature = "sqlite")]
pub use offshoot_sqlite::{DataDir, Sqlite};
pub use offshoot_store as store;
pub use offshoot_store::{
    CursorExpired, HistoryPage, Memory, OpenStore, Page, PageCursor, RowRef, Store, StoreError,
};

// Compiles and runs the examples of the README and of the guide to embedding
// agents with the doctests.
#[cfg(all(doctest, feature = "sqlite", feature = "agents"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "sqlite", feature = "tools"))]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingGuide;
