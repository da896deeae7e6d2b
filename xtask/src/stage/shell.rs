//! Stage `shell`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::harness::Crash;
use crate::repository::Repository;

/// Enough to hit every moment several times; `cargo xtask crash --cli` kills more.
const KILLS: u64 = 50;

pub(crate) const STAGE: Stage = Stage {
    name: "shell",
    about: "what the command line acknowledged holds, however its daemon is killed",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    Crash { kills: KILLS, cli: true, ..Crash::default() }.run(repository)?;
    Ok(Verdict::Passed)
}
