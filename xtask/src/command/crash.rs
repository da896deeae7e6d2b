//! `cargo xtask crash`: real processes on a real disk, killed.

use anyhow::Result;
use clap::Args;

use super::harness;
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
}

impl Crash {
    /// Builds the harness in release mode and kills; an error means that a promise was broken, and
    /// what was printed says which.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        let args = ["crash", "--kills", &self.kills.to_string(), "--seed", &self.seed.to_string()];
        harness(repository, &args.map(str::to_owned))
    }
}
