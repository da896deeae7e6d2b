//! Commands: tasks that are processes.
//!
//! # Who does what
//! ```text
//!  runtime ── body     reports, feeds stdin, says how it ended
//!               │ drop = stop                     ▲ finish
//!             keeper   owns the process; TERM, KILL, nothing left behind
//!               │                                 ▲ kept
//!             pump     owns the pipes; writes the log
//! ```
//! The runtime drops a body that does not stop in time, so a body owns
//! nothing: the keeper lives on until every process of the task is gone and
//! the log is durable, and [`Backend::clear`](offshoot_runtime::Backend::clear)
//! waits for it.
//!
//! # What belongs to a command
//! Its main process and that one's group, every process in its cgroup, with its
//! brand or with its mark in its environment, and all that descend from these.
//! Without a cgroup, a process that has left the group, removed its brand,
//! dropped its environment and lost its parent, all four, is not known for the
//! command's any more. A confined command cannot remove its brand. When a
//! runtime dies, its session tells where it had one to itself.

mod backend;
mod body;
mod commands;
mod confiner;
mod end;
mod input;
mod keeper;
mod keepers;
mod line;
mod pump;
mod recent;
mod reconcile;
mod report;
mod seal;
mod spell;
mod start;
mod stdin;
mod surroundings;
mod told;

pub use backend::CommandBackend;
pub use commands::{Attach, Commands, CommandsError, Holding};
pub use input::{Feed, Input, Unread};
pub use line::{Command, CommandError, Restart, ShownCommand, Stdin};
pub use report::{Origin, Output, Report, StartError};
pub use seal::Sealed;
pub use surroundings::Surroundings;
