//! Stage `demo`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::executable::Executable;
use crate::repository::Repository;

pub(crate) const STAGE: Stage = Stage {
    name: "demo",
    about: "the command that the README starts with holds what it shows",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    Executable::Offshoot.invocation(repository)?.args(["demo"]).run()?;
    Ok(Verdict::Passed)
}
