//! The figures of one tree: violations by rule, cycles by crate, names that are defined often.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;

use super::crate_order::upward_dev_dependencies;
use super::cycles::cycles;
use super::type_names::definitions;
use super::{RuleFindings, SourceTree};

/// The number of repeated type names that are shown, the most frequent first.
const SHOWN_TYPES: usize = 20;

/// The figures of one tree. Its display is the tables people read.
#[derive(Debug)]
pub(crate) struct TreeFigures {
    violations: Vec<(&'static str, usize)>,
    cycles: Vec<CycleFigure>,
    upward_dev_dependencies: Vec<String>,
    repeated_types: Vec<RepeatedType>,
}

/// One cycle of modules.
#[derive(Debug)]
struct CycleFigure {
    member: String,
    modules: Vec<String>,
    modules_of_crate: usize,
}

/// A type name with several definitions, of any visibility.
#[derive(Debug)]
struct RepeatedType {
    name: String,
    definitions: usize,
    members: Vec<String>,
}

impl TreeFigures {
    /// The figures of the tree, in which these violations were found.
    pub(crate) fn of(tree: &SourceTree, findings: &RuleFindings) -> Self {
        Self {
            violations: findings.counts().collect(),
            cycles: cycle_figures(tree),
            upward_dev_dependencies: upward_dev_dependencies(tree),
            repeated_types: repeated_types(tree),
        }
    }
}

fn cycle_figures(tree: &SourceTree) -> Vec<CycleFigure> {
    let mut figures = Vec::new();
    for found in cycles(tree) {
        for component in &found.components {
            figures.push(CycleFigure {
                member: found.member.to_owned(),
                modules: component.iter().cloned().collect(),
                modules_of_crate: found.module_count,
            });
        }
    }
    figures
}

fn repeated_types(tree: &SourceTree) -> Vec<RepeatedType> {
    let mut repeated = Vec::new();
    for (name, definitions) in definitions(tree) {
        let members: BTreeSet<_> = definitions.iter().map(|found| found.member.clone()).collect();
        let members = members.into_iter().collect();
        if definitions.len() > 1 {
            repeated.push(RepeatedType { name, definitions: definitions.len(), members });
        }
    }
    repeated.sort_by_key(|repeated| Reverse(repeated.definitions));
    repeated
}

impl fmt::Display for TreeFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<14}{:>10}", "rule", "violations")?;
        for (rule, count) in &self.violations {
            writeln!(f, "{rule:<14}{count:>10}")?;
        }
        writeln!(f, "\ncycles of modules: {}", self.cycles.len())?;
        for cycle in &self.cycles {
            let (count, of) = (cycle.modules.len(), cycle.modules_of_crate);
            writeln!(f, "    {} ({count} of {of}): {}", cycle.member, cycle.modules.join(", "))?;
        }
        let upward = &self.upward_dev_dependencies;
        writeln!(f, "\ndev-dependencies against the order of crates: {}", upward.len())?;
        for dependency in upward {
            writeln!(f, "    {dependency}")?;
        }
        let repeated = &self.repeated_types;
        writeln!(f, "\ntype names defined more than once: {}; most often:", repeated.len())?;
        for repeated in repeated.iter().take(SHOWN_TYPES) {
            let members = repeated.members.join(", ");
            writeln!(f, "{:>6}  {} ({members})", repeated.definitions, repeated.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    #[test]
    fn every_sort_of_figure_is_shown() {
        let names_b = "[dev-dependencies]\nplanted-b = { path = \"../b\" }\n";
        let tree = PlantedWorkspace::new()
            .member_with("a", names_b, "mod c;\nmod d;\nmod e;\nstruct Thing;\n")
            .file("crates/a/src/c.rs", "use crate::d;\n")
            .file("crates/a/src/d.rs", "use crate::c;\nstruct Thing;\n")
            .file("crates/a/src/e.rs", "")
            .member("b", "struct Thing;\n")
            .order("`b`, `a`")
            .read();
        let shown = TreeFigures::of(&tree, &RuleFindings::of(&tree)).to_string();
        for part in [
            "cycles                 1\n",
            "file-length            0\n",
            "cycles of modules: 1\n    a (2 of 3): c, d\n",
            "against the order of crates: 1\n    a -> b\n",
            "more than once: 1; most often:\n     3  Thing (a, b)\n",
        ] {
            assert!(shown.contains(part), "{part:?} in {shown}");
        }
    }
}
