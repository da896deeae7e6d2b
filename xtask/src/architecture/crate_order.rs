//! Rule `crate-order`: a crate depends only on crates that stand after it in `ARCHITECTURE.md`.

use super::member::WorkspaceMember;
use super::text_file::TextFile;
use super::{Rule, RuleViolation, SourceTree};
use crate::metadata::Dependency;

pub(crate) const RULE: Rule = Rule {
    name: "crate-order",
    about: "a crate depends only on crates that stand after it in ARCHITECTURE.md",
    check,
};

const DOCUMENT: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- crate order: begin -->";
const END: &str = "<!-- crate order: end -->";

/// The crates from the highest to the lowest, each with its line in the document.
struct CrateOrder {
    crates: Vec<(String, usize)>,
}

impl CrateOrder {
    /// Reads the table between the two comments; nothing if one of them is missing.
    ///
    /// A row is a layer: its name, and its crates in backticks.
    fn read(document: &TextFile) -> Option<Self> {
        let lines: Vec<_> = document.text.lines().map(str::trim).collect();
        let begin = lines.iter().position(|line| *line == BEGIN)?;
        let end = lines.iter().position(|line| *line == END)?;
        let mut crates = Vec::new();
        for (index, line) in lines.iter().enumerate().take(end).skip(begin + 1) {
            let cell = line.split('|').nth(2).unwrap_or_default();
            let names = cell.split('`').skip(1).step_by(2);
            crates.extend(names.map(|name| (name.to_owned(), index + 1)));
        }
        Some(Self { crates })
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.crates.iter().position(|(known, _)| known == name)
    }

    /// Whether the first crate stands before the second. Unknown crates stand nowhere.
    fn is_above(&self, first: &WorkspaceMember, second: &WorkspaceMember) -> bool {
        match (self.position(&first.name), self.position(&second.name)) {
            (Some(first), Some(second)) => first < second,
            _ => false,
        }
    }
}

/// A dependency of one crate of the workspace on another, against the order.
struct UpwardDependency<'t> {
    from: &'t WorkspaceMember,
    to: &'t WorkspaceMember,
    dependency: &'t Dependency,
}

fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let Some(order) = order(tree) else {
        let message = format!(
            "there is no table of crates between `{BEGIN}` and `{END}`; add one with the columns \
             `layer` and `crates`, the lowest layer last"
        );
        return vec![violation(DOCUMENT, 1, message)];
    };
    let mut violations = unlisted(tree, &order);
    for upward in upward(tree, &order) {
        if upward.dependency.kind.as_deref() != Some("dev") {
            violations.push(upward.violation(tree));
        }
    }
    violations
}

/// The dev-dependencies against the order, which are allowed.
pub(crate) fn upward_dev_dependencies(tree: &SourceTree) -> Vec<String> {
    let Some(order) = order(tree) else { return Vec::new() };
    upward(tree, &order)
        .iter()
        .filter(|upward| upward.dependency.kind.as_deref() == Some("dev"))
        .map(|upward| format!("{} -> {}", upward.from.name, upward.to.name))
        .collect()
}

fn order(tree: &SourceTree) -> Option<CrateOrder> {
    let document = tree.text_files().iter().find(|file| file.path == DOCUMENT)?;
    CrateOrder::read(document)
}

/// Crates that the table lacks, and names in it that are no crate or stand there twice.
fn unlisted(tree: &SourceTree, order: &CrateOrder) -> Vec<RuleViolation> {
    let mut violations = Vec::new();
    for member in tree.members().iter().filter(|member| order.position(&member.name).is_none()) {
        let message =
            format!("`{}` is not in the table of crates in {DOCUMENT}; add it", member.name);
        violations.push(violation(&member.manifest, 1, message));
    }
    for (index, (name, line)) in order.crates.iter().enumerate() {
        if !tree.members().iter().any(|member| member.name == *name) {
            let message = format!("`{name}` is no crate of the workspace; remove it");
            violations.push(violation(DOCUMENT, *line, message));
        }
        if order.position(name) != Some(index) {
            violations.push(violation(DOCUMENT, *line, format!("`{name}` is listed twice")));
        }
    }
    violations
}

fn upward<'t>(tree: &'t SourceTree, order: &CrateOrder) -> Vec<UpwardDependency<'t>> {
    let mut upward = Vec::new();
    for from in tree.members() {
        for dependency in &from.dependencies {
            let to = tree.members().iter().find(|to| to.package == dependency.name);
            if let Some(to) = to.filter(|to| order.is_above(to, from)) {
                upward.push(UpwardDependency { from, to, dependency });
            }
        }
    }
    upward
}

impl UpwardDependency<'_> {
    fn violation(&self, tree: &SourceTree) -> RuleViolation {
        let names_it = |line: &str| line.trim_start().starts_with(&self.dependency.name);
        let manifest = tree.text_files().iter().find(|file| file.path == self.from.manifest);
        let line = manifest.and_then(|file| file.text.lines().position(names_it));
        let message = format!(
            "`{}` depends on `{}`, which stands before it in {DOCUMENT}; turn the dependency \
             round, or move what both need into a crate below both",
            self.from.name, self.to.name
        );
        violation(&self.from.manifest, line.map_or(1, |line| line + 1), message)
    }
}

fn violation(file: &str, line: usize, message: String) -> RuleViolation {
    RuleViolation { rule: RULE.name, file: file.to_owned(), line, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    /// Two crates, the first with this section that names the second.
    fn planted(section: &str) -> PlantedWorkspace {
        let names_b = format!("[{section}]\nplanted-b = {{ path = \"../b\" }}\n");
        PlantedWorkspace::new().member_with("a", &names_b, "").member("b", "")
    }

    #[test]
    fn a_dependency_on_a_later_crate_is_in_order() {
        assert!(planted("dependencies").order("`a`, `b`").violations(&RULE).is_empty());
    }

    #[test]
    fn a_dependency_on_an_earlier_crate_is_a_violation() {
        for section in ["dependencies", "build-dependencies"] {
            let found = planted(section).order("`b`, `a`").violations(&RULE);
            assert_eq!(found.len(), 1, "{found:?}");
            let start = "crates/a/Cargo.toml:6: `a` depends on `b`, which stands before it in ";
            assert!(found[0].starts_with(start), "{found:?}");
        }
    }

    #[test]
    fn a_dev_dependency_may_point_anywhere_and_is_listed() {
        let planted = planted("dev-dependencies").order("`b`, `a`");
        assert!(planted.violations(&RULE).is_empty());
        assert_eq!(upward_dev_dependencies(&planted.read()), ["a -> b"]);
    }

    #[test]
    fn the_table_and_the_workspace_have_the_same_crates() {
        let found = planted("dependencies").order("`a`, `gone`, `a`").violations(&RULE);
        assert_eq!(
            found,
            [
                "crates/b/Cargo.toml:1: `b` is not in the table of crates in ARCHITECTURE.md; \
                 add it",
                "ARCHITECTURE.md:4: `gone` is no crate of the workspace; remove it",
                "ARCHITECTURE.md:4: `a` is listed twice",
            ]
        );
    }

    #[test]
    fn a_missing_table_is_a_violation() {
        let found = planted("dependencies").violations(&RULE);
        assert!(found[0].starts_with("ARCHITECTURE.md:1: there is no table"), "{found:?}");
    }
}
