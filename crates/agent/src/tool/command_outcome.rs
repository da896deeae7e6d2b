//! The result of a command, in parts.

use offshoot_core::TaskId;

/// The result of a call that ran a command, in parts.
///
/// A dialect formats the parts in its own shape and renames the tools in the
/// summary, but not in the output of the program. See
/// [`Output::command`](super::Output::command).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The task of the command.
    pub task: TaskId,
    /// How the command ended, or that it still runs.
    pub summary: String,
    /// The part of its output that the model reads.
    pub output: String,
}
