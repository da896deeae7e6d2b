//! Stage `architecture`.

use anyhow::{Result, ensure};

use super::{Stage, Verdict};
use crate::architecture::{FigureMismatch, RuleFindings, SourceTree, ViolationAllowance};
use crate::repository::Repository;

pub(crate) const STAGE: Stage = Stage {
    name: "architecture",
    about: "modules and crates import in one direction, names and words are the agreed ones",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    let tree = SourceTree::read(repository)?;
    let findings = RuleFindings::of(&tree);
    let present = ViolationAllowance::of(&findings);
    let mismatches = ViolationAllowance::read(repository)?.compare(&present);
    let (excess, lower): (Vec<_>, Vec<_>) =
        mismatches.into_iter().partition(FigureMismatch::is_excess);
    if !excess.is_empty() {
        let is_in_excess = |violation: &_| excess.iter().any(|found| found.counts(violation));
        print!("{}", findings.retain(is_in_excess));
    }
    ensure!(excess.is_empty(), "more violations than before:{}", lines(&excess));
    ensure!(
        lower.is_empty(),
        "fewer violations than before; keep it so with `cargo xtask architecture --lower`:{}",
        lines(&lower)
    );
    println!("    {} source files checked", tree.rust_files().len());
    Ok(Verdict::Passed)
}

fn lines(mismatches: &[FigureMismatch]) -> String {
    mismatches.iter().map(|mismatch| format!("\n    {mismatch}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::PlantedWorkspace;

    fn outcome(allowed: &str) -> Result<Verdict> {
        let planted = PlantedWorkspace::new().member("low", "//! For nobody.\n").order("`low`");
        let planted = planted.file("xtask/allowance.txt", allowed);
        run(&planted.repository())
    }

    #[test]
    fn a_tree_with_exactly_the_allowed_violations_passes() {
        assert_eq!(outcome("prose low 1").unwrap(), Verdict::Passed);
    }

    #[test]
    fn one_violation_too_many_fails_the_stage() {
        let error = outcome("").unwrap_err().to_string();
        assert!(error.contains("more violations than before:\n    prose in low: 1,"), "{error}");
    }

    #[test]
    fn an_allowance_that_was_not_lowered_fails_the_stage() {
        let error = outcome("prose low 2").unwrap_err().to_string();
        assert!(error.contains("--lower"), "{error}");
    }
}
