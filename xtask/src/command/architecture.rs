//! `cargo xtask architecture`: the order of modules and crates, names, words and file lengths.

use anyhow::{Result, ensure};
use clap::Args;

use crate::architecture::{RuleFindings, SourceTree, TreeFigures};
use crate::repository::Repository;
use crate::stage;

/// Arguments of `cargo xtask architecture`.
#[derive(Debug, Args)]
pub(crate) struct Architecture {
    /// Print how many violations each rule has, and no violation itself
    #[arg(long)]
    counts: bool,
}

impl Architecture {
    /// Prints the violations, or their counts; fails if there is one.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        if !self.counts {
            return (stage::architecture::STAGE.run)(repository).map(|_passed| ());
        }
        let tree = SourceTree::read(repository)?;
        let findings = RuleFindings::of(&tree);
        print!("{}", TreeFigures::of(&tree, &findings));
        ensure!(findings.is_empty(), "{}", findings.summary());
        Ok(())
    }
}
