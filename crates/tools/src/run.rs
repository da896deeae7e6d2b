//! `run_command`: runs a shell command as a task of the agent.
//!
//! A command is a task like any other: it is listed, can be cancelled and keeps its
//! output. Its end is reported once, by the call that waits for it or by a notice. A
//! call that is repeated after a crash finds the command it has started.
//!
//! # Guarantees
//! - A command is sandboxed where the system supports it. It writes only below the
//!   working directory of its agent and into a temporary directory of that agent, and
//!   hidden paths are invisible to it. An unsandboxed command always needs an approval.
//! - Its environment is the one that the host gives, else that of this process. It has
//!   no credentials unless the user passes them by name, no variables that configure
//!   Offshoot, and no variables that change how a shell reads a line.
//! - It has resource limits: processes, memory and open files.
//! - Its input is empty: a read returns the end at once.
//!
//! # Limits
//! An agent in a worktree commits to a repository outside its directory. Its commands
//! can write the objects of that repository, the branches of agents, and the head and
//! index of the worktree. They cannot write its configuration, its hooks or the branches
//! of the user. The system has no rule that allows adding objects and forbids removing
//! them. In a repository within its own directory a command may change everything,
//! including hooks and configuration.

mod bounds;
mod environment;
mod line;
mod output;
mod report;
mod runs;
mod workspace;

pub use environment::{is_passable, is_withheld};
pub use line::{GrantScope, grant_scope, read};
pub use runs::Runs;

/// The name of the tool.
pub(crate) const NAME: &str = offshoot_agent::built_in_tools::RUN_COMMAND.name;

/// The name of the tool that reads the output of a command.
pub(crate) const OUTPUT: &str = offshoot_agent::built_in_tools::COMMAND_OUTPUT.name;
