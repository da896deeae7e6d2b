//! The runtime of Offshoot: it spawns tasks, executes their bodies, and
//! delivers, awaits, cancels and recovers them.
//!
//! A task is durable before its body is polled, and its result is durable
//! before it is reported. A waiter may therefore be dropped, a body may panic,
//! and the process may be killed: the result can still be read.

// The modules are in the order of their layers: each imports only those above
// it.

// Foundations.
mod config;
mod environment;
mod error;
mod panic;
mod signal;

// The shared base: store, live tasks and sessions, slots, backends, commits.
mod engine;

// The services of a running task: access checks, reports, waits without a slot.
mod access;
mod report;
mod suspend;

// The end of a task: one commit.
mod settle;

// The request to stop, for one task or many, and the shutdown.
mod cancel;

// Attempts: launching and polling bodies.
mod attempt;

// From a request to a durable task.
mod spawn;

// Waits for other tasks, and the removal of a session.
mod removal;
mod wait;

// Inboxes, messages and questions.
mod deliver;

// Histories, the step journal, and inspection.
mod history;
mod inspect;
mod step;

// The unfinished tasks of an earlier process.
mod recover;

// The operations of the handles on a task.
mod context;
mod task_ref;

// The handle on a session.
mod session;

// The runtime itself.
mod runtime;

pub use cancel::{CancelRequest, SweepRequest};
pub use config::RestartPolicy;
pub use deliver::{
    InboxRow, InboxRows, MessageRecipient, QuestionRequest, Receipts, RefusedRecipient, SendRequest,
};
pub use engine::ambient::{ToolCallFuture, in_tool_call};
pub use engine::backend::{AgentKind, Backend, ClearReason, InputStatus, ReconcileResult};
pub use engine::body::{
    BodyError, BodyResult, CancelledError, ClosureBody, EncodeFuture, TaskBody,
};
pub use engine::handle::{Context, TaskRef};
pub use engine::kind::{BackendBody, Kind, TaskRequest};
pub use environment::{BoxFuture, Environment};
pub use error::Error;
pub use history::{AppendRequest, Peek, PeekBlock, PeekRequest};
pub use inspect::{EventReader, TaskList, TaskSnapshot, TaskWatch, WhyReason, WhyReport};
pub use runtime::{Runtime, RuntimeBuilder};
pub use session::Session;
pub use spawn::{SpawnBuilder, SpawnFuture};
pub use step::{StepError, StepRequest};
pub use suspend::ExternalWait;
pub use wait::{Wait, WaitEnd, WaitMany, WaitResult};
