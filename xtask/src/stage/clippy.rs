//! Stage `clippy`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::component::Component;
use crate::repository::Repository;

pub(crate) const STAGE: Stage =
    Stage { name: "clippy", about: "neither the compiler nor clippy warns about anything", run };

fn run(repository: &Repository) -> Result<Verdict> {
    Component::Clippy.ensure(repository)?;
    repository
        .cargo(["clippy", "--workspace", "--all-targets", "--all-features"])
        .args(["--", "-D", "warnings"])
        .run()?;
    Ok(Verdict::Passed)
}
