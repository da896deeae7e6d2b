//! Stage `doc`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::repository::Repository;

pub(crate) const STAGE: Stage =
    Stage { name: "doc", about: "the documentation builds without a warning", run };

fn run(repository: &Repository) -> Result<Verdict> {
    repository
        .cargo(["doc", "--workspace", "--all-features", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()?;
    Ok(Verdict::Passed)
}
