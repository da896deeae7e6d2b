//! The engine of Offshoot: sends tasks off, keeps track of them, steers,
//! awaits and stops them, and takes up what a crash left behind.
//!
//! A task is durable before its body is polled, and its result is durable
//! before anybody is told. Everything else follows from these two: a waiter
//! may go away, the body may panic, the process may be killed, and the result
//! is still there to be read.

mod ambient;
mod backend;
mod bequest;
mod birth;
mod body;
mod cancel;
mod cell;
mod cells;
mod clear;
mod config;
mod context;
mod count;
mod desk;
mod draft;
mod drive;
mod elsewhere;
mod engine;
mod environment;
mod error;
mod history;
mod idle;
mod inbox;
mod journal;
mod look;
mod lookout;
mod message;
mod panic;
mod park;
mod progress;
mod question;
mod receipt;
mod recover;
mod remove;
mod resolve;
mod rest;
mod runtime;
mod session;
mod settle;
mod shutdown;
mod signal;
mod slots;
mod spawn;
mod step;
mod sweep;
mod task_ref;
mod tether;
mod wait;
mod watch;

pub use ambient::{InToolCall, in_tool_call};
pub use backend::{Backend, Clearing, Hearing, Kind, Reconciled, Registered, Request};
pub use body::{Body, BodyError, Cancelled, Closure, Encoded, Ended};
pub use cancel::Cancelling;
pub use config::Restarts;
pub use context::Context;
pub use elsewhere::WaitElsewhere;
pub use environment::{BoxFuture, Environment};
pub use error::Error;
pub use history::{Appending, Peek, PeekedBlock, Peeking};
pub use inbox::{Arrival, Rows};
pub use look::{Reason, Snapshot, Tasks, Why};
pub use message::{Address, Sending};
pub use question::Asking;
pub use receipt::{Receipts, Refused};
pub use runtime::{Builder, Runtime};
pub use session::Session;
pub use spawn::{Spawn, Spawning};
pub use step::{StepError, Stepping};
pub use sweep::Sweeping;
pub use task_ref::TaskRef;
pub use wait::{Wait, WaitEnd, WaitMany, Waited};
pub use watch::{Events, Watch};
