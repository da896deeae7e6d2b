//! `cargo xtask bench`: the benchmark, which is a workspace of its own.

use std::ffi::OsString;

use anyhow::{Result, ensure};
use clap::Args;

use crate::repository::Repository;

const MANIFEST: &str = "bench/Cargo.toml";

/// Arguments of `cargo xtask bench`.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Arguments for the benchmark
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

impl Bench {
    /// Builds the benchmark in release mode and runs it from the root of the repository.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        ensure!(repository.holds(MANIFEST), "there is no {MANIFEST} in this repository");
        repository
            .cargo(["run", "--release", "--manifest-path", MANIFEST, "--"])
            .args(&self.args)
            .run()
    }
}
