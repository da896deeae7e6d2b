//! Rule `type-names`: a public type name is defined in one crate.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, Visibility};

use super::item::{attributes, is_test_only};
use super::shared_names::{self, SharedName};
use super::token::{self, SourceToken};
use super::{Rule, RuleViolation, SourceTree};

pub(crate) const RULE: Rule = Rule {
    name: "type-names",
    about: "a public type name is defined in one crate, or listed with the reason to share it",
    check,
};

/// A type as a crate defines it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeDefinition {
    /// The name of the type.
    pub(crate) name: String,
    /// The name of the crate.
    pub(crate) member: String,
    /// The file, relative to the root of the tree.
    pub(crate) file: String,
    /// The line, counted from one.
    pub(crate) line: usize,
    /// Whether it is `pub`, reachable or not.
    pub(crate) is_public: bool,
}

fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    violations(tree, shared_names::ALL)
}

/// The definitions of every type that the code of the workspace has outside of tests, by name.
///
/// Types are structs, enums, unions, traits and aliases. A module that two programs of a crate
/// share counts once.
pub(crate) fn definitions(tree: &SourceTree) -> BTreeMap<String, BTreeSet<TypeDefinition>> {
    let mut definitions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for member in tree.members() {
        for module in member.roots.iter().flat_map(|root| tree.modules_of(root)) {
            for item in module.items {
                if is_test_only(attributes(item)) {
                    continue;
                }
                for (ident, is_public) in types_of(item) {
                    let definition = TypeDefinition {
                        name: ident.to_string(),
                        member: member.name.clone(),
                        file: module.file.path.clone(),
                        line: ident.span().start().line,
                        is_public,
                    };
                    definitions.entry(ident.to_string()).or_default().insert(definition);
                }
            }
        }
    }
    definitions
}

/// The types that an item defines, and whether each is `pub`; a macro may define several.
fn types_of(item: &Item) -> Vec<(proc_macro2::Ident, bool)> {
    let public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
    match item {
        Item::Struct(item) => vec![(item.ident.clone(), public(&item.vis))],
        Item::Enum(item) => vec![(item.ident.clone(), public(&item.vis))],
        Item::Union(item) => vec![(item.ident.clone(), public(&item.vis))],
        Item::Trait(item) => vec![(item.ident.clone(), public(&item.vis))],
        Item::Type(item) => vec![(item.ident.clone(), public(&item.vis))],
        Item::Macro(item) => public_types_of_tokens(&token::flatten(&item.mac.tokens)),
        _ => Vec::new(),
    }
}

/// Each name that follows `pub struct` or the like.
fn public_types_of_tokens(tokens: &[SourceToken]) -> Vec<(proc_macro2::Ident, bool)> {
    let defines = |keyword: &proc_macro2::Ident| {
        ["struct", "enum", "union", "trait", "type"].iter().any(|known| keyword == known)
    };
    let mut types = Vec::new();
    for triple in tokens.windows(3) {
        if let [SourceToken::Ident(public), SourceToken::Ident(keyword), SourceToken::Ident(name)] =
            triple
            && public == "pub"
            && defines(keyword)
        {
            types.push((name.clone(), true));
        }
    }
    types
}

/// The names that several crates define without being listed, and those listed without need.
fn violations(tree: &SourceTree, shared: &[SharedName]) -> Vec<RuleViolation> {
    let mut violations = Vec::new();
    let mut needed = BTreeSet::new();
    for (name, definitions) in definitions(tree) {
        let public: Vec<_> = definitions.iter().filter(|found| found.is_public).collect();
        let members: BTreeSet<_> = public.iter().map(|found| found.member.as_str()).collect();
        if let Some(listed) = shared.iter().find(|listed| listed.name == name) {
            let allowed = members.iter().filter(|member| listed.allows(member)).count();
            if allowed > 1 {
                needed.insert(listed.name);
            }
            if allowed == members.len() {
                continue;
            }
        }
        if members.len() > 1 {
            violations.push(repeated(&public, members.len()));
        }
    }
    if tree.rust_files().contains_key(shared_names::FILE) {
        let unneeded = shared.iter().filter(|listed| !needed.contains(listed.name));
        violations.extend(unneeded.map(stale));
    }
    violations
}

/// The violation that these definitions of one name are.
fn repeated(definitions: &[&TypeDefinition], crates: usize) -> RuleViolation {
    let first = definitions[0];
    let others: Vec<_> =
        definitions[1..].iter().map(|other| format!("{}:{}", other.file, other.line)).collect();
    let message = format!(
        "`{}` is defined in {crates} crates, also at {}; name each after its own meaning, or list \
         a value and its wire form in {}",
        first.name,
        others.join(", "),
        shared_names::FILE
    );
    RuleViolation { rule: RULE.name, file: first.file.clone(), line: first.line, message }
}

/// The violation that a listed name is which no two crates share.
fn stale(listed: &SharedName) -> RuleViolation {
    let (name, reason) = (listed.name, listed.reason);
    let message = format!("`{name}` ({reason}) is not shared by two crates any more; remove it");
    RuleViolation { rule: RULE.name, file: shared_names::FILE.to_owned(), line: 1, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    fn violations_of(first: &str, second: &str, shared: &[SharedName]) -> Vec<String> {
        let tree = PlantedWorkspace::new().member("a", first).member("b", second).read();
        violations(&tree, shared).iter().map(RuleViolation::to_string).collect()
    }

    #[test]
    fn a_public_type_of_two_crates_is_a_violation() {
        for second in ["\npub enum Thing {}\n", "\nmod m { pub trait Thing {} }\n"] {
            assert_eq!(
                violations_of("pub struct Thing;\n", second, &[]),
                ["crates/a/src/lib.rs:1: `Thing` is defined in 2 crates, also at \
                  crates/b/src/lib.rs:2; name each after its own meaning, or list a value and its \
                  wire form in xtask/src/architecture/shared_names.rs"]
            );
        }
    }

    #[test]
    fn a_type_inside_a_macro_is_seen() {
        let second = "thing! { pub struct Thing; }\n";
        assert_eq!(violations_of("pub type Thing = u8;\n", second, &[]).len(), 1);
    }

    #[test]
    fn a_listed_name_may_be_shared() {
        let thing = "pub struct Thing;\n";
        for (crates, expected) in [(&[][..], 0), (&["a", "b"], 0), (&["a", "c"], 1)] {
            let shared = [SharedName { name: "Thing", crates, reason: "a pair" }];
            assert_eq!(violations_of(thing, thing, &shared).len(), expected, "{crates:?}");
        }
    }

    #[test]
    fn private_types_and_types_for_tests_are_no_violation() {
        let second = "pub(crate) struct Thing;\n#[cfg(test)]\npub struct Other;\n";
        assert!(violations_of("pub struct Thing;\npub struct Other;\n", second, &[]).is_empty());
    }

    #[test]
    fn a_listed_name_that_is_not_shared_any_more_is_a_violation() {
        let tree = PlantedWorkspace::new().member("a", "").file(shared_names::FILE, "").read();
        let found =
            violations(&tree, &[SharedName { name: "Thing", crates: &[], reason: "a pair" }]);
        assert!(found[0].message.starts_with("`Thing` (a pair) is not shared"), "{found:?}");
    }
}
