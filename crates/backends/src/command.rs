//! Commands: tasks that are processes.
//!
//! # Parts
//! ```text
//!  runtime ── body        reports, feeds stdin, returns the end
//!               │ drop = stop                        ▲ result
//!             supervisor  owns the process; TERM, KILL, nothing left behind
//!               │                                    ▲ kept
//!             pump        owns the pipes; writes the log
//! ```
//! The runtime drops a body that does not stop in time, so a body owns nothing. The
//! supervisor lives on until every process of the task is gone and the log is durable,
//! and [`Backend::clear`](offshoot_runtime::Backend::clear) waits for it.
//!
//! # The processes of a command
//! These belong to a command: its main process and the group of that, every process in
//! its cgroup, every process with one of its [marks](crate::InheritedMark), and all
//! processes that descend from these.
//!
//! Without a cgroup, a process that has left the group, removed both marks and lost its
//! parent is no longer known as the command's. A confined command cannot remove the
//! rlimit mark. When a daemon with a session of its own dies, the next one finds such
//! processes in that session.

mod backend;
mod body;
mod commands;
mod confiner;
mod end;
mod input;
mod line;
mod output_tally;
mod pump;
mod recent;
mod reconcile;
mod report;
mod seal;
mod start;
mod stdin;
mod supervisor;
mod supervisors;
mod surroundings;
mod write_turn;

pub use backend::CommandBackend;
pub use commands::{Attach, Commands, CommandsBuilder, CommandsError};
pub use input::{Input, InputClosed, InputFeed};
pub use line::{Command, CommandError, Restart, ShownCommand, Stdin};
pub use report::{Origin, OutputSize, Report, StartError};
pub use seal::Sealed;
pub use surroundings::Surroundings;
