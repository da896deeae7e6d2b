//! The commands of `cargo xtask`.
//!
//! A command is one file: an argument struct with `run`. It joins the others by a variant here.

mod bench;
mod test;

use anyhow::Result;
use clap::Subcommand;

use crate::repository::Repository;

/// What `cargo xtask` is asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every check of the repository, stage by stage
    Test(test::Test),
    /// Run the benchmark; every argument is passed on to it
    #[command(disable_help_flag = true)]
    Bench(bench::Bench),
}

impl Command {
    /// Runs the command; an error means that it did not do, or did not find, what it should.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        match self {
            Self::Test(test) => test.run(repository),
            Self::Bench(bench) => bench.run(repository),
        }
    }
}
