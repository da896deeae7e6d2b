//! The fault harness, as commands and stages run it.

mod crash;
mod simulate;

use anyhow::Result;

use crate::executable::Executable;
use crate::repository::Repository;

pub(crate) use crash::Crash;
pub(crate) use simulate::Simulate;

/// Builds the harness in release mode and runs it.
fn run(repository: &Repository, args: &[String]) -> Result<()> {
    Executable::Harness.invocation(repository)?.args(args).run()
}
