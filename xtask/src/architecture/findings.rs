//! The violations of all rules in one tree.

use std::fmt;

use super::{RULES, Rule, RuleViolation, SourceTree};

/// Every rule with its violations. Its display is the list people read.
#[derive(Debug)]
pub(crate) struct RuleFindings {
    by_rule: Vec<(&'static Rule, Vec<RuleViolation>)>,
}

impl RuleFindings {
    /// Applies every rule to the tree.
    pub(crate) fn of(tree: &SourceTree) -> Self {
        let apply = |rule: &'static Rule| {
            let mut violations = (rule.check)(tree);
            violations.sort();
            (rule, violations)
        };
        Self { by_rule: RULES.iter().map(apply).collect() }
    }

    /// Whether no rule is broken.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts().all(|(_, count)| count == 0)
    }

    /// Every violation, rule by rule.
    pub(crate) fn violations(&self) -> impl Iterator<Item = &RuleViolation> {
        self.by_rule.iter().flat_map(|(_, violations)| violations)
    }

    /// The findings without the violations that do not match.
    pub(crate) fn retain(mut self, matches: impl Fn(&RuleViolation) -> bool) -> Self {
        for (_, violations) in &mut self.by_rule {
            violations.retain(&matches);
        }
        self
    }

    /// The name of each rule with the number of its violations.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.by_rule.iter().map(|(rule, violations)| (rule.name, violations.len()))
    }

    /// One line that names every broken rule with its count.
    pub(crate) fn summary(&self) -> String {
        let total: usize = self.counts().map(|(_, count)| count).sum();
        let broken: Vec<_> = self
            .counts()
            .filter(|(_, count)| *count > 0)
            .map(|(rule, count)| format!("{rule} {count}"))
            .collect();
        format!("{total} violations of the architecture: {}", broken.join(", "))
    }
}

impl fmt::Display for RuleFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rule, violations) in self.by_rule.iter().filter(|(_, found)| !found.is_empty()) {
            writeln!(f, "{} ({}): {}", rule.name, violations.len(), rule.about)?;
            for violation in violations {
                writeln!(f, "    {violation}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    #[test]
    fn a_tree_in_order_has_no_findings() {
        let tree = PlantedWorkspace::new().member("low", "//! A crate.\n").order("`low`").read();
        let findings = RuleFindings::of(&tree);
        assert!(findings.is_empty(), "{findings}");
        assert_eq!(findings.to_string(), "");
    }

    #[test]
    fn violations_are_grouped_by_rule_with_counts() {
        let root = "//! Whoever reads it.\n//! For nobody.\npub struct Purse;\n";
        let tree = PlantedWorkspace::new().member("low", root).order("`low`").read();
        let findings = RuleFindings::of(&tree);
        let shown = findings.to_string();
        assert!(shown.contains("prose (2): "), "{shown}");
        assert!(shown.contains("\n    crates/low/src/lib.rs:3: `Purse`"), "{shown}");
        assert_eq!(findings.summary(), "3 violations of the architecture: old-names 1, prose 2");
    }
}
