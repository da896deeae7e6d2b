//! `run_command`: has a shell run something, as a task of the agent's.
//!
//! A command is a task like any other: it is seen, can be stopped, keeps its
//! output, and its end is told once, by the call that waits for it or by a notice.
//! A call that is repeated after a crash finds the command it has begun, and never
//! begins it twice.
//!
//! # What holds for a command
//! - It is confined where the system can do that: it writes only below the folder
//!   of its agent and into a folder for temporary files of that agent's own, and
//!   sees nothing of what is hidden. Where it cannot be confined, somebody is
//!   asked before, whatever is allowed.
//! - It has the environment that the host gives it, else that of this process,
//!   without credentials unless a person passes them by name, without what Offshoot is told by,
//!   and without what would make a shell read a line as something else.
//! - It has resource limits: processes, memory and open files.
//! - It reads no input: what asks for some finds its end at once.
//!
//! # What does not
//! An agent that works in a worktree commits to a repository elsewhere. So its
//! commands write there where objects are, where branches of agents are, and where
//! the head and index of the worktree are: neither its configuration nor its hooks,
//! nor the branches of people. The system knows no rule by which objects could be
//! added and not be removed, so they can be. In a repository within its folder an
//! agent's command may do anything, its hooks and its configuration included.

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

/// What the tool is called.
pub(crate) const NAME: &str = offshoot_agent::built_in_tools::RUN_COMMAND.name;

/// What the tool is called that reads on in what a command has written.
pub(crate) const OUTPUT: &str = offshoot_agent::built_in_tools::COMMAND_OUTPUT.name;
