//! The backends that execute tasks outside the process of the daemon.
//!
//! [`Commands`] executes commands as processes in groups of their own. Their output is a
//! bounded, durable log with any number of readers. When the task has ended, no process of
//! it is left.

mod command;
mod file;
mod log;
mod process;
mod text;
mod workers;

pub use command::{
    Attach, Command, CommandBackend, CommandError, Commands, CommandsBuilder, CommandsError, Input,
    InputClosed, InputFeed, Origin, OutputSize, Report, Restart, Sealed, ShownCommand, StartError,
    Stdin, Surroundings,
};
pub use log::{Chunk, Follower, LogLimits, LogPiece, LosslessReader, OutputLog, Stream, Writing};
pub use process::{CgroupLack, InheritedMark, belong_to_no_task, raise_file_limit};
pub use text::safe_text;
// The types that describe the confinement of a command.
pub use offshoot_sandbox::{Confinement, ConfinementError, Helper};
