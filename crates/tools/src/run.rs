//! `run_command`: has a shell run something, as a task of the agent's.

mod line;

pub use line::{lasting, read};

/// What the tool is called.
pub(crate) const NAME: &str = "run_command";
