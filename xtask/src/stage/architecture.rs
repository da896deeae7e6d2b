//! Stage `architecture`.

use anyhow::{Result, ensure};

use super::{Stage, Verdict};
use crate::architecture::{RuleFindings, SourceTree};
use crate::repository::Repository;

pub(crate) const STAGE: Stage = Stage {
    name: "architecture",
    about: "modules and crates import in one direction, names and words are the agreed ones",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    let tree = SourceTree::read(repository)?;
    let findings = RuleFindings::of(&tree);
    print!("{findings}");
    ensure!(findings.is_empty(), "{}", findings.summary());
    println!("    {} source files checked", tree.rust_files().len());
    Ok(Verdict::Passed)
}
