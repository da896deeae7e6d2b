//! Stage `crash`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::harness::Crash;
use crate::repository::Repository;

/// Enough to kill at every commit of a short life; `cargo xtask crash` kills more.
const KILLS: u64 = 100;

pub(crate) const STAGE: Stage = Stage {
    name: "crash",
    about: "what was acknowledged to a killed process is on the disk, once",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    Crash { kills: KILLS, ..Crash::default() }.run(repository)?;
    Ok(Verdict::Passed)
}
