//! Stage `test`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::package::Package;
use crate::repository::Repository;

pub(crate) const STAGE: Stage =
    Stage { name: "test", about: "unit tests, scenarios and doctests pass", run };

fn run(repository: &Repository) -> Result<Verdict> {
    Package::Python.ensure(repository)?;
    // Naming targets, as `--all-targets` does, would leave the doctests out.
    repository.cargo(["test", "--workspace", "--all-features"]).run()?;
    Ok(Verdict::Passed)
}
