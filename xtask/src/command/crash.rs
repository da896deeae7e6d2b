//! `cargo xtask crash`: real processes on a real disk, killed.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::{executable, harness};
use crate::repository::Repository;

/// Arguments of `cargo xtask crash`.
#[derive(Debug, Args)]
pub(crate) struct Crash {
    /// How many processes to kill
    #[arg(long, default_value_t = 100)]
    pub(crate) kills: u64,

    /// What their loads are drawn from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Kill the daemon of the binary while scripts drive it, instead of the runtime alone
    #[arg(long)]
    pub(crate) cli: bool,
}

impl Crash {
    /// Builds the harness in release mode and kills; an error means that a promise was broken, and
    /// what was printed says which.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        let mut args = match self.cli {
            true => vec!["shell".to_owned(), build(repository)?.to_string_lossy().into_owned()],
            false => vec!["crash".to_owned()],
        };
        let options = ["--kills", &self.kills.to_string(), "--seed", &self.seed.to_string()];
        args.extend(options.map(str::to_owned));
        harness(repository, &args)
    }
}

/// Builds the binary in release mode; where Cargo put it.
fn build(repository: &Repository) -> Result<PathBuf> {
    let format = "--message-format=json-render-diagnostics";
    let messages = repository
        .cargo(["build", "--release", "-p", "offshoot", "--bin", "offshoot", format])
        .read()?;
    executable(&messages).context("the package `offshoot` builds no executable")
}
