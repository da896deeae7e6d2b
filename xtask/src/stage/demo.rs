//! Stage `demo`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::repository::Repository;

pub(crate) const STAGE: Stage = Stage {
    name: "demo",
    about: "the command that the README starts with holds what it shows",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    repository.cargo(["run", "--release", "--", "demo"]).run()?;
    Ok(Verdict::Passed)
}
