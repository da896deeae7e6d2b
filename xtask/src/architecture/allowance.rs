//! The violations that the tree may still have: a figure for each rule and crate, which only falls.
//!
//! The figures are in [`FILE`]. A rule and crate that it does not list has none. So a tree with
//! violations cannot get worse, and a crate without any stays without.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use anyhow::{Context, Result, ensure};

use super::{RULES, RuleFindings, RuleViolation};
use crate::repository::Repository;

/// The file with the figures, relative to the root of the repository.
const FILE: &str = "xtask/allowance.txt";

/// The first lines of the file.
const HEAD: &str = "\
# The violations of the architecture that are still allowed: rule, crate, number.
# A figure only falls: `cargo xtask architecture --lower` writes the lower ones.
# A rule and crate without a line has no violations.
";

/// A rule and a crate.
type RuleInCrate = (String, String);

/// The number of violations by rule and crate. Its display is the text of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViolationAllowance {
    figures: BTreeMap<RuleInCrate, usize>,
}

impl ViolationAllowance {
    /// Reads the file; a repository without one allows nothing.
    pub(crate) fn read(repository: &Repository) -> Result<Self> {
        let path = repository.root().join(FILE);
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {FILE}"))?;
        Self::parse(&text)
    }

    /// Writes the file.
    pub(crate) fn write(&self, repository: &Repository) -> Result<()> {
        let text = self.to_string();
        fs::write(repository.root().join(FILE), text)
            .with_context(|| format!("cannot write {FILE}"))
    }

    /// The number of violations in these findings.
    pub(crate) fn of(findings: &RuleFindings) -> Self {
        let mut figures = BTreeMap::new();
        for violation in findings.violations() {
            let place = (violation.rule.to_owned(), crate_of(&violation.file).to_owned());
            *figures.entry(place).or_default() += 1;
        }
        Self { figures }
    }

    /// The lower figure of the two for each rule and crate.
    pub(crate) fn lowered_to(&self, found: &Self) -> Self {
        let lower = |(place, allowed): (&RuleInCrate, &usize)| {
            let figure = found.figure(place).min(*allowed);
            (figure > 0).then(|| (place.clone(), figure))
        };
        Self { figures: self.figures.iter().filter_map(lower).collect() }
    }

    /// Lists the differences between the allowed figures and those of a tree.
    pub(crate) fn compare(&self, found: &Self) -> Vec<FigureMismatch> {
        let mut places: Vec<_> = self.figures.keys().chain(found.figures.keys()).collect();
        places.sort();
        places.dedup();
        let mismatch = |place: &RuleInCrate| {
            let (allowed, found) = (self.figure(place), found.figure(place));
            let (rule, member) = place.clone();
            (allowed != found).then_some(FigureMismatch { rule, member, allowed, found })
        };
        places.into_iter().filter_map(mismatch).collect()
    }

    fn figure(&self, place: &RuleInCrate) -> usize {
        self.figures.get(place).copied().unwrap_or(0)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut figures = BTreeMap::new();
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let unreadable = || format!("{FILE}:{number}: `{line}` is not `rule crate number`");
            let fields: Vec<_> = line.split_whitespace().collect();
            let &[rule, member, figure] = &fields[..] else { anyhow::bail!(unreadable()) };
            let figure: usize = figure.parse().with_context(unreadable)?;
            ensure!(
                RULES.iter().any(|known| known.name == rule),
                "{FILE}:{number}: there is no rule `{rule}`"
            );
            let earlier = figures.insert((rule.to_owned(), member.to_owned()), figure);
            ensure!(earlier.is_none(), "{FILE}:{number}: a second figure for {rule} in {member}");
        }
        Ok(Self { figures })
    }
}

impl fmt::Display for ViolationAllowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        for ((rule, member), figure) in &self.figures {
            writeln!(f, "{rule} {member} {figure}")?;
        }
        Ok(())
    }
}

/// A rule and crate with another number of violations than the file allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FigureMismatch {
    /// The rule's name.
    pub(crate) rule: String,
    /// The crate, as [`crate_of`] names it.
    pub(crate) member: String,
    /// The figure in the file.
    pub(crate) allowed: usize,
    /// The figure of the tree.
    pub(crate) found: usize,
}

impl FigureMismatch {
    /// Whether the tree has more violations than the file allows.
    pub(crate) fn is_excess(&self) -> bool {
        self.found > self.allowed
    }

    /// Whether the violation is one of those that the figures count.
    pub(crate) fn counts(&self, violation: &RuleViolation) -> bool {
        violation.rule == self.rule && crate_of(&violation.file) == self.member
    }
}

impl fmt::Display for FigureMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, member, allowed, found } = self;
        write!(f, "{rule} in {member}: {found}, allowed are {allowed}")
    }
}

/// The crate that a file belongs to; `.` for files at the root of the repository.
fn crate_of(file: &str) -> &str {
    let below = file.strip_prefix("crates/").unwrap_or(file);
    below.split_once('/').map_or(".", |(directory, _)| directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    fn allowance(text: &str) -> ViolationAllowance {
        ViolationAllowance::parse(text).unwrap()
    }

    fn found(root: &str) -> ViolationAllowance {
        let tree = PlantedWorkspace::new().member("low", root).order("`low`").read();
        ViolationAllowance::of(&RuleFindings::of(&tree))
    }

    fn shown(allowed: &str, root: &str) -> Vec<String> {
        let mismatches = allowance(allowed).compare(&found(root));
        mismatches.iter().map(FigureMismatch::to_string).collect()
    }

    #[test]
    fn a_crate_without_a_line_is_allowed_no_violation() {
        assert_eq!(shown("", "//! For nobody.\n"), ["prose in low: 1, allowed are 0"]);
    }

    #[test]
    fn the_allowed_figure_is_accepted() {
        assert!(shown("prose low 1", "//! For nobody.\n").is_empty());
    }

    #[test]
    fn a_figure_above_the_allowed_one_is_an_excess() {
        let mismatches = allowance("prose low 1").compare(&found("//! Nobody.\n//! Nobody.\n"));
        let [excess] = &mismatches[..] else { panic!("{mismatches:?}") };
        assert!(excess.is_excess(), "{excess}");
    }

    #[test]
    fn an_excess_counts_the_violations_of_its_rule_in_its_crate() {
        let root = "//! For nobody.\nstruct Purse;\n";
        let planted = PlantedWorkspace::new().member("low", root).member("high", root);
        let findings = RuleFindings::of(&planted.order("`high`, `low`").read());
        let allowed = allowance("prose low 1\nold-names low 1\nold-names high 1");
        let mismatches = allowed.compare(&ViolationAllowance::of(&findings));
        let [excess] = &mismatches[..] else { panic!("{mismatches:?}") };
        let counted: Vec<_> = findings.violations().filter(|found| excess.counts(found)).collect();
        let [violation] = counted[..] else { panic!("{counted:?}") };
        assert_eq!((violation.rule, &*violation.file), ("prose", "crates/high/src/lib.rs"));
    }

    #[test]
    fn a_figure_below_the_allowed_one_has_to_be_written_down() {
        let mismatches = allowance("prose low 2").compare(&found("//! For nobody.\n"));
        let [lower] = &mismatches[..] else { panic!("{mismatches:?}") };
        assert!(!lower.is_excess(), "{lower}");
        let lowered = allowance("prose low 2").lowered_to(&found("//! For nobody.\n"));
        assert_eq!(lowered, allowance("prose low 1"));
    }

    #[test]
    fn lowering_raises_no_figure_and_adds_none() {
        let worse = found("//! Nobody.\n//! Nobody.\npub struct Purse;\n");
        assert_eq!(allowance("prose low 1").lowered_to(&worse), allowance("prose low 1"));
        assert_eq!(allowance("cycles low 1").lowered_to(&worse), ViolationAllowance::default());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let written = allowance("prose low 2\ncycles high 1");
        assert_eq!(allowance(&written.to_string()), written);
        assert!(written.to_string().ends_with("cycles high 1\nprose low 2\n"), "{written}");
    }

    #[test]
    fn a_line_that_names_no_rule_or_figure_is_refused() {
        for text in ["prose low", "prose low many", "purses low 1", "prose low 1\nprose low 2"] {
            assert!(ViolationAllowance::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_outside_of_the_crates_belongs_to_its_directory() {
        for (file, member) in [
            ("crates/low/src/lib.rs", "low"),
            ("xtask/src/main.rs", "xtask"),
            ("docs/guide/a.md", "docs"),
            ("README.md", "."),
        ] {
            assert_eq!(crate_of(file), member);
        }
    }
}
