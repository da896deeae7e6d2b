//! The commands of `cargo xtask`.
//!
//! A command is an argument struct with `run`, in a file of its own; commands that are stages too are
//! in [`harness`](crate::harness). It joins the others by a variant here.

mod architecture;
mod bench;
mod measure;
mod test;

use anyhow::Result;
use clap::Subcommand;

use crate::harness::{Crash, Simulate};
use crate::repository::Repository;

/// A command of `cargo xtask`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every check of the repository, stage by stage
    Test(test::Test),
    /// Check module order, crate order, names, words and file lengths
    Architecture(architecture::Architecture),
    /// Run the benchmark; every argument is passed on to it
    #[command(disable_help_flag = true)]
    Bench(bench::Bench),
    /// Measure the program and its agents, into bench/SHELL.md and bench/AGENTS.md
    Measure(measure::Measure),
    /// Simulate the runtime under every kind of fault; a failing seed replays
    Simulate(Simulate),
    /// Kill real processes and compare their data with what they acknowledged
    Crash(Crash),
}

impl Command {
    /// Runs the command. An error means that it failed, or found something wrong.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        match self {
            Self::Test(test) => test.run(repository),
            Self::Architecture(architecture) => architecture.run(repository),
            Self::Bench(bench) => bench.run(repository),
            Self::Measure(measure) => measure.run(repository),
            Self::Simulate(simulate) => simulate.run(repository),
            Self::Crash(crash) => crash.run(repository),
        }
    }
}
