//! Stage `fmt`.

use anyhow::{Context, Result};

use super::{Stage, Verdict};
use crate::component::Component;
use crate::repository::Repository;

/// The benchmark is not a member of the workspace, so it is asked for by name.
const BENCH: &str = "bench/Cargo.toml";

pub(crate) const STAGE: Stage =
    Stage { name: "fmt", about: "the code is formatted by rustfmt", run };

fn run(repository: &Repository) -> Result<Verdict> {
    Component::Rustfmt.ensure(repository)?;
    repository
        .cargo(["fmt", "--all", "--check"])
        .run()
        .context("format the code with `cargo fmt --all`")?;
    if repository.holds(BENCH) {
        repository
            .cargo(["fmt", "--manifest-path", BENCH, "--check"])
            .run()
            .context("format the benchmark with `cargo fmt --manifest-path bench/Cargo.toml`")?;
    }
    Ok(Verdict::Passed)
}
