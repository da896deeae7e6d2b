//! Rule `old-names`: no name has a word of the former vocabulary.

use std::collections::BTreeSet;

use super::declared_name::{NameKind, declared_names};
use super::old_words::{self, OldWord, OldWordMatch};
use super::rust_file::RustFile;
use super::text_file::TextFile;
use super::{Rule, RuleViolation, SourceTree};

pub(crate) const RULE: Rule = Rule {
    name: "old-names",
    about: "no name in Rust, SQL or JSON, and no file name, has a word of the former vocabulary",
    check,
};

fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut violations = file_names(tree);
    for file in tree.rust_files().values().filter(|file| !is_exempt(file)) {
        rust_names(file, &mut violations);
        for literal in file.string_literals() {
            let sql = &file.text[literal.clone()];
            if is_sql(sql) {
                sql_names(file, sql, literal.start, &mut violations);
            }
        }
    }
    for file in tree.text_files().iter().filter(|file| file.path.ends_with(".sql")) {
        if !is_exempt(file) {
            sql_names(file, &file.text, 0, &mut violations);
        }
    }
    violations
}

/// The names of files and directories; `a.rs` and the directory `a` beside it are one name.
fn file_names(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for file in tree.all_files().filter(|file| !is_exempt(file)) {
        let stem = file.path.rsplit_once('.').map_or(file.path.as_str(), |(stem, _)| stem);
        let ends = stem.match_indices('/').map(|(at, _)| at).chain([stem.len()]);
        for path in ends.map(|end| &stem[..end]) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let old = old_word(name, NameKind::Module, file);
            if let Some(old) = old.filter(|_| seen.insert(path.to_owned())) {
                violations.push(violation(file, 1, &format!("`{path}`"), old));
            }
        }
    }
    violations
}

/// The names that the file declares.
fn rust_names(file: &RustFile, violations: &mut Vec<RuleViolation>) {
    let mut seen = BTreeSet::new();
    for declared in declared_names(file) {
        let old = old_word(&declared.name, declared.kind, file);
        if let Some(old) = old.filter(|_| seen.insert((declared.name.clone(), declared.line))) {
            violations.push(violation(file, declared.line, &format!("`{}`", declared.name), old));
        }
    }
}

/// The names in a piece of SQL that begins at this offset of the file.
fn sql_names(file: &TextFile, sql: &str, start: usize, violations: &mut Vec<RuleViolation>) {
    let mut offset = 0;
    for line in sql.split_inclusive('\n') {
        let code = line.split("--").next().unwrap_or_default();
        for name in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if let Some(old) = old_word(name, NameKind::Value, file) {
                let line = file.line_of(start + offset);
                violations.push(violation(file, line, &format!("`{name}` in SQL"), old));
            }
        }
        offset += line.len();
    }
}

fn is_sql(literal: &str) -> bool {
    let mut words = literal.split(|c: char| !c.is_alphanumeric());
    words.any(|word| matches!(word, "SELECT" | "INSERT" | "UPDATE" | "CREATE"))
}

/// The old word that makes this an old name in this file.
fn old_word(name: &str, kind: NameKind, file: &TextFile) -> Option<&'static OldWord> {
    let words = words_of(name);
    let whole = words.join("_");
    old_words::ALL.iter().find(|old| {
        let is_here = old.within.is_empty() || file.is_within(old.within);
        is_here
            && match old.matched {
                OldWordMatch::Anywhere => words.iter().any(|word| is_form_of(word, old.old)),
                OldWordMatch::Whole => whole == old.old,
                OldWordMatch::NameOnly => kind != NameKind::Value && whole == old.old,
                OldWordMatch::TypeOnly => kind == NameKind::Type && whole == old.old,
            }
    })
}

/// Whether a word is another in singular or plural.
fn is_form_of(word: &str, base: &str) -> bool {
    word.strip_prefix(base).is_some_and(|ending| matches!(ending, "" | "s" | "es"))
}

/// The words of a name in `CamelCase`, `snake_case` or `kebab-case`, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = None;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_alphanumeric() {
            let ends_capitals = letters.peek().is_some_and(|next| next.is_lowercase());
            let begins_word = match previous {
                None => true,
                Some(previous) if letter.is_uppercase() => {
                    !char::is_uppercase(previous) || ends_capitals
                }
                Some(_) => false,
            };
            if begins_word {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
        }
        previous = Some(letter).filter(|letter| letter.is_alphanumeric());
    }
    words
}

fn is_exempt(file: &TextFile) -> bool {
    old_words::EXEMPT.iter().any(|path| file.is_within(path))
}

fn violation(file: &TextFile, line: usize, name: &str, old: &OldWord) -> RuleViolation {
    let message = format!("{name} has the old word `{}`; use {}", old.old, old.new);
    RuleViolation { rule: RULE.name, file: file.path.clone(), line, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    fn violations(root: &str) -> Vec<String> {
        PlantedWorkspace::new().member("low", root).violations(&RULE)
    }

    #[test]
    fn a_name_is_split_into_its_words() {
        assert_eq!(
            words_of("openPurse_for2HTTPServers"),
            ["open", "purse", "for2", "http", "servers"]
        );
        assert_eq!(words_of("SCREAMING_CASE"), ["screaming", "case"]);
        assert_eq!(words_of("a-page"), ["a", "page"]);
    }

    #[test]
    fn an_unambiguous_word_is_found_in_any_name() {
        for root in [
            "struct OpenPurse;\n",
            "fn purse_of() {}\n",
            "struct A { purses: u8 }\n",
            "fn f(purse: u8) {}\n",
            "enum A { Purse }\n",
            "table! { PURSE }\n",
        ] {
            let found = violations(root);
            assert_eq!(found.len(), 1, "{root}: {found:?}");
            assert!(found[0].ends_with("has the old word `purse`; use BudgetLedger"), "{found:?}");
        }
        assert!(violations("struct Pursed;\nfn f() { purse(); }\n").is_empty());
    }

    #[test]
    fn an_everyday_word_is_found_only_as_a_whole_type_or_module() {
        for root in ["struct Seat;\n", "mod seat {}\n", "#[serde(rename = \"seat\")] struct A;\n"] {
            assert_eq!(violations(root).len(), 1, "{root}");
        }
        let root = "struct SeatMap;\nfn seat() {}\nfn f(seat: u8) {}\nenum A { Seat }\n";
        assert!(violations(root).is_empty());
    }

    #[test]
    fn a_verb_is_found_only_as_a_whole_name() {
        assert_eq!(violations("fn bear() {}\n").len(), 1);
        assert!(violations("fn a_task_bears_a_name() {}\nfn bearer() {}\n").is_empty());
    }

    #[test]
    fn a_word_may_be_old_in_one_crate_alone() {
        let summary = "struct Summary;\n";
        let found = PlantedWorkspace::new()
            .member("agent", summary)
            .member("low", summary)
            .violations(&RULE);
        assert_eq!(
            found,
            ["crates/agent/src/lib.rs:1: `Summary` has the old word `summary`; use compaction"]
        );
    }

    #[test]
    fn a_file_and_its_directory_are_one_old_name() {
        let found = PlantedWorkspace::new()
            .member("low", "mod leave;\n")
            .file("crates/low/src/leave.rs", "mod words;\n")
            .file("crates/low/src/leave/words.rs", "")
            .file("docs/authority.md", "")
            .violations(&RULE);
        let expected = [
            "crates/low/src/leave.rs:1: `crates/low/src/leave` has the old word `leave`; \
             use approval",
            "docs/authority.md:1: `docs/authority` has the old word `authority`; use Permissions",
        ];
        let found: BTreeSet<_> = found.iter().map(String::as_str).collect();
        assert!(expected.iter().all(|expected| found.contains(expected)), "{found:?}");
        assert_eq!(found.len(), expected.len(), "{found:?}");
    }

    #[test]
    fn names_in_sql_are_found_in_files_and_literals() {
        let root =
            "const A: &str = \"\n    SELECT heir_id FROM tasks\";\nconst B: &str = \"an heir\";\n";
        let found = PlantedWorkspace::new()
            .member("low", root)
            .file("crates/low/migrations/1.sql", "-- The heir.\nCREATE TABLE heirs (id);\n")
            .violations(&RULE);
        assert_eq!(
            found,
            [
                "crates/low/src/lib.rs:2: `heir_id` in SQL has the old word `heir`; use recipient",
                "crates/low/migrations/1.sql:2: `heirs` in SQL has the old word `heir`; \
                 use recipient",
            ]
        );
    }

    #[test]
    fn the_words_of_other_systems_are_exempt() {
        let found = PlantedWorkspace::new()
            .member("agent", "mod dialect;\n")
            .file("crates/agent/src/dialect.rs", "struct Purse;\n")
            .violations(&RULE);
        assert!(found.is_empty(), "{found:?}");
    }
}
