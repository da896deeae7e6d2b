//! Rule `cycles`: the top-level modules of a crate import in one direction.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::digraph::Digraph;
use super::module_graph::ModuleGraph;
use super::{Rule, RuleViolation, SourceTree};

pub(crate) const RULE: Rule = Rule {
    name: "cycles",
    about: "the top-level modules of a crate import in one direction",
    check,
};

/// The cycles of one library or program.
pub(crate) struct CrateCycles<'t> {
    /// The name of the crate.
    pub(crate) member: &'t str,
    /// The sets of modules that all lead to each other.
    pub(crate) components: Vec<BTreeSet<String>>,
    /// The number of its top-level modules.
    pub(crate) module_count: usize,
    root: &'t str,
    graph: ModuleGraph,
    digraph: Digraph,
}

/// The cycles of every library and program of the workspace.
pub(crate) fn cycles(tree: &SourceTree) -> Vec<CrateCycles<'_>> {
    let mut found = Vec::new();
    for member in tree.members() {
        for root in &member.roots {
            let modules = tree.modules_of(root);
            let graph = ModuleGraph::of(&modules);
            let digraph = graph.digraph();
            found.push(CrateCycles {
                member: &member.name,
                components: digraph.components(),
                module_count: modules.iter().filter(|module| module.path.len() == 1).count(),
                root,
                graph,
                digraph,
            });
        }
    }
    found
}

fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let of_crate = |cycles: CrateCycles<'_>| -> Vec<_> {
        cycles.components.iter().map(|component| cycles.violation(component)).collect()
    };
    cycles(tree).into_iter().flat_map(of_crate).collect()
}

impl CrateCycles<'_> {
    /// The violation that one component is: its modules, and the imports that make it a cycle.
    fn violation(&self, component: &BTreeSet<String>) -> RuleViolation {
        let closing = self.digraph.closing_edges(component);
        let modules: Vec<_> = component.iter().map(String::as_str).collect();
        let mut message = format!(
            "{} modules of `{}` lead to each other: {}; move what both sides need into a module \
             below them, until none of these imports is left ({}):",
            modules.len(),
            self.member,
            modules.join(", "),
            closing.len(),
        );
        for (from, to) in &closing {
            message.push_str("\n        ");
            message.push_str(&self.description(from, to));
        }
        RuleViolation { rule: RULE.name, file: self.root.to_owned(), line: 1, message }
    }

    /// An edge in one line: its first mention, the number of its mentions, and the way back.
    fn description(&self, from: &str, to: &str) -> String {
        let mut description = String::new();
        if let [first, more @ ..] = self.graph.mentions(from, to) {
            let (file, line, path) = (&first.file, first.line, &first.path);
            let _ = write!(description, "{file}:{line}: `{from}` names `{to}` ({path}");
            if !more.is_empty() {
                let _ = write!(description, " and {} more", more.len());
            }
            let _ = write!(description, "), and {}", self.digraph.way(to, from).join(" -> "));
        }
        description
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    fn planted(root: &str, a: &str, b: &str) -> Vec<String> {
        PlantedWorkspace::new()
            .member("low", root)
            .file("crates/low/src/a.rs", a)
            .file("crates/low/src/b.rs", b)
            .violations(&RULE)
    }

    #[test]
    fn a_cycle_through_a_re_export_is_found() {
        let root = "mod a;\nmod b;\npub use a::Alpha;\n";
        let a = "use crate::b::Beta;\nuse crate::b::Gamma;\npub struct Alpha(Beta, Gamma);\n";
        let b = "pub struct Beta;\npub struct Gamma;\n\nfn f(_: crate::Alpha) {}\n";
        let found = planted(root, a, b);
        assert_eq!(
            found,
            ["crates/low/src/lib.rs:1: 2 modules of `low` lead to each other: a, b; \
              move what both sides need into a module below them, until none of these imports \
              is left (1):\n        \
              crates/low/src/b.rs:4: `b` names `a` (crate::Alpha), and a -> b"]
        );
    }

    #[test]
    fn a_cycle_only_in_tests_is_none() {
        let root = "mod a;\nmod b;\n";
        let b = "pub struct Beta;\n#[cfg(test)]\nmod tests { use crate::a::Alpha; }\n";
        assert!(planted(root, "use crate::b::Beta;\npub struct Alpha(Beta);\n", b).is_empty());
    }

    #[test]
    fn the_root_may_name_every_module_and_be_named() {
        let root = "mod a;\nmod b;\npub struct Root;\nfn f() { a::g(); b::g(); }\n";
        let both = "pub fn g() { let _ = super::Root; }\n";
        assert!(planted(root, both, both).is_empty());
    }

    #[test]
    fn the_modules_of_a_program_are_checked_too() {
        let found = PlantedWorkspace::new()
            .member("low", "")
            .file("crates/low/src/main.rs", "mod a;\nmod b;\nfn main() {}\n")
            .file("crates/low/src/a.rs", "use crate::b;\n")
            .file("crates/low/src/b.rs", "use super::a;\n")
            .violations(&RULE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/low/src/main.rs:1: "), "{found:?}");
    }
}
