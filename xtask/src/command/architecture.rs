//! `cargo xtask architecture`: the order of modules and crates, names, words and file lengths.

use anyhow::{Result, ensure};
use clap::Args;

use crate::architecture::{RuleFindings, SourceTree, TreeFigures, ViolationAllowance};
use crate::repository::Repository;

/// Arguments of `cargo xtask architecture`.
#[derive(Debug, Args)]
pub(crate) struct Architecture {
    /// Print how many violations each rule has, and no violation itself
    #[arg(long)]
    counts: bool,

    /// Lower the allowed numbers of violations to those of the tree
    #[arg(long, conflicts_with = "counts")]
    lower: bool,
}

impl Architecture {
    /// Prints the violations, or their counts; fails if there is one.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        let tree = SourceTree::read(repository)?;
        let findings = RuleFindings::of(&tree);
        if self.lower {
            let present = ViolationAllowance::of(&findings);
            return ViolationAllowance::read(repository)?.lowered_to(&present).write(repository);
        }
        if self.counts {
            print!("{}", TreeFigures::of(&tree, &findings));
        } else {
            print!("{findings}");
        }
        ensure!(findings.is_empty(), "{}", findings.summary());
        Ok(())
    }
}
