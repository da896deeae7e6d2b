//! The commands of `cargo xtask`.
//!
//! A command is one file: an argument struct with `run`. It joins the others by a variant here.

mod architecture;
pub(crate) mod bench;
pub(crate) mod crash;
mod measure;
pub(crate) mod simulate;
mod test;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::Value;

use crate::repository::Repository;

/// What `cargo xtask` is asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run every check of the repository, stage by stage
    Test(test::Test),
    /// Check module order, crate order, names, words and file lengths
    Architecture(architecture::Architecture),
    /// Run the benchmark; every argument is passed on to it
    #[command(disable_help_flag = true)]
    Bench(bench::Bench),
    /// Measure what the program costs its user, into bench/SHELL.md and bench/AGENTS.md
    Measure(measure::Measure),
    /// Live simulated lives of the runtime, with every fault there is; a failing seed replays
    Simulate(simulate::Simulate),
    /// Kill real processes and compare what they leave with what was acknowledged
    Crash(crash::Crash),
}

impl Command {
    /// Runs the command; an error means that it did not do, or did not find, what it should.
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

/// Builds the fault harness in release mode and runs it.
fn harness(repository: &Repository, args: &[String]) -> Result<()> {
    repository
        .cargo(["run", "--release", "--quiet", "-p", "offshoot-harness", "--"])
        .args(args)
        .run()
}

/// Builds the program in release mode; where Cargo put it.
fn program(repository: &Repository) -> Result<PathBuf> {
    let format = "--message-format=json-render-diagnostics";
    let messages = repository
        .cargo(["build", "--release", "-p", "offshoot", "--bin", "offshoot", format])
        .read()?;
    executable(&messages).context("the package `offshoot` builds no executable")
}

/// The executable that Cargo's messages name.
fn executable(messages: &str) -> Option<PathBuf> {
    let mut messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    messages.find_map(|message: Value| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_the_messages_of_cargo() {
        let messages = "not json\n\
            {\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"folder/program\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("folder/program")));
        assert_eq!(executable("{\"reason\":\"build-finished\"}"), None);
    }
}
