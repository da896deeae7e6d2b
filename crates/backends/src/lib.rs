//! The backends that execute tasks outside of the daemon's own process.
//!
//! [`Commands`] executes commands: real processes in groups of their own,
//! whose output is a bounded, durable log that any number of readers follow,
//! and of which nothing is left when their task has ended.

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
// What says how a command is confined.
pub use offshoot_sandbox::{Confinement, ConfinementError, Helper};
