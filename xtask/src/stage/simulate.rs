//! Stage `simulate`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::harness::Simulate;
use crate::repository::Repository;

/// Enough to see a bug that a change brings in; `cargo xtask simulate` lives more.
const SEEDS: u64 = 2_000;

pub(crate) const STAGE: Stage = Stage {
    name: "simulate",
    about: "no simulated life of the runtime breaks a promise, whatever fails in it",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    Simulate { seeds: SEEDS, seed: None, first: 1 }.run(repository)?;
    Ok(Verdict::Passed)
}
