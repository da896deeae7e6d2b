//! Stage `tour`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::executable::Executable;
use crate::metadata::Metadata;
use crate::repository::Repository;

const PACKAGE: &str = "offshoot";
const EXAMPLE: &str = "tour";

pub(crate) const STAGE: Stage =
    Stage { name: "tour", about: "the example that shows the library builds and runs", run };

fn run(repository: &Repository) -> Result<Verdict> {
    if !Metadata::of_members(repository)?.has_example(PACKAGE, EXAMPLE) {
        return Ok(Verdict::Skipped("there is no example `tour`"));
    }
    Executable::Tour.invocation(repository)?.run()?;
    Ok(Verdict::Passed)
}
