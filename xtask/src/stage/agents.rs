//! Stage `agents`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::harness::Crash;
use crate::repository::Repository;

pub(crate) const STAGE: Stage = Stage {
    name: "agents",
    about: "agents killed at any commit go on; nothing is asked, done or told twice",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    // Every commit on both sides; `cargo xtask crash --agents --pairs` kills more.
    Crash { agents: true, ..Crash::default() }.run(repository)?;
    Ok(Verdict::Passed)
}
