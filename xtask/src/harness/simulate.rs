//! `cargo xtask simulate`: simulated runs of the runtime, each determined by its seed.

use anyhow::Result;
use clap::Args;

use super::run;
use crate::repository::Repository;

/// Arguments of `cargo xtask simulate`.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// How many seeds to live
    #[arg(long, default_value_t = 2_000)]
    pub(crate) seeds: u64,

    /// Live this seed only, and show how it went
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) first: u64,
}

impl Simulate {
    /// Builds the harness in release mode and runs the seeds. An error means a broken promise,
    /// which the output names and explains.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        let mut args = vec!["simulate".to_owned()];
        match self.seed {
            Some(seed) => args.extend(["--seed".to_owned(), seed.to_string()]),
            None => {
                args.extend(["--seeds".to_owned(), self.seeds.to_string()]);
                args.extend(["--first".to_owned(), self.first.to_string()]);
            }
        }
        run(repository, &args)
    }
}
