//! What is told of a command, in parts.

use offshoot_core::TaskId;

/// What is told of a command, in parts. A dialect has other words for it, and what
/// a program has written is none of ours: see [`Output::ran`](super::Output::ran).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The command.
    pub task: TaskId,
    /// What is said of it: how it has ended, or that it has not.
    pub said: String,
    /// What it has written, as far as it is shown.
    pub wrote: String,
}
