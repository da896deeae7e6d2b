//! Rule `prose`: comments, documents and messages do without the banned phrases.

use std::ops::Range;

use super::banned_phrases::{self, BannedPhrase};
use super::text_file::TextFile;
use super::{Rule, RuleViolation, SourceTree};

pub(crate) const RULE: Rule = Rule {
    name: "prose",
    about: "comments, documents and messages do without the banned words and phrases",
    check,
};

fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut violations = Vec::new();
    for file in tree.rust_files().values() {
        add_violations(file, &file.prose(), &mut violations);
    }
    for file in tree.text_files() {
        add_violations(file, &file.text, &mut violations);
    }
    violations
}

/// Adds each banned phrase in the prose of a file, whose offsets are those of the file.
fn add_violations(file: &TextFile, prose: &str, violations: &mut Vec<RuleViolation>) {
    let words = words_of(prose);
    for at in 0..words.len() {
        for banned in banned_phrases::ALL {
            let line = file.line_of(words[at].start);
            if begins(prose, &words[at..], banned) && !is_exception(file, line, banned) {
                let message = format!("\"{}\": {}", banned.words.join(" "), banned.instead);
                let file = file.path.clone();
                violations.push(RuleViolation { rule: RULE.name, file, line, message });
            }
        }
    }
}

/// The words of a text, as ranges of it. An identifier with `_` is one word.
fn words_of(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    for (at, letter) in text.char_indices() {
        if letter.is_alphanumeric() || letter == '_' {
            let end = at + letter.len_utf8();
            match words.last_mut() {
                Some(word) if word.end == at => word.end = end,
                _ => words.push(at..end),
            }
        }
    }
    words
}

/// Whether the words begin with the phrase, with no more than spaces and comment marks between.
fn begins(text: &str, words: &[Range<usize>], banned: &BannedPhrase) -> bool {
    let mut previous: Option<usize> = None;
    banned.words.iter().enumerate().all(|(index, expected)| {
        let Some(word) = words.get(index) else { return false };
        let gap = previous.replace(word.end).map_or("", |end| &text[end..word.start]);
        let is_near = |mark: char| mark.is_whitespace() || "/!*#>-".contains(mark);
        text[word.clone()].eq_ignore_ascii_case(expected) && gap.chars().all(is_near)
    })
}

fn is_exception(file: &TextFile, line: usize, banned: &BannedPhrase) -> bool {
    banned_phrases::EXCEPTIONS.iter().any(|exception| {
        file.is_within(exception.path)
            && (exception.words.is_empty() || exception.words == banned.words)
            && file.line(line).contains(exception.line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    fn violations(root: &str) -> Vec<String> {
        PlantedWorkspace::new().member("low", root).violations(&RULE)
    }

    #[test]
    fn a_banned_word_is_found_in_comments_and_messages() {
        for root in [
            "/// The purse.\nstruct A;\n",
            "// Purse.\n",
            "/* a\npurse */\n",
            "const A: &str = \"a\\npurse is empty\";\n",
            "fn f() { bail!(\"the purse is empty\") }\n",
        ] {
            let found = violations(root);
            assert_eq!(found.len(), 1, "{root}: {found:?}");
            assert!(found[0].ends_with("\"purse\": say budget"), "{found:?}");
        }
    }

    #[test]
    fn names_and_strings_of_one_word_are_no_prose() {
        let root = "/// See `a_purse` and pursed.\nstruct Purse;\nconst A: &str = \"purse\";\n";
        assert!(violations(root).is_empty());
    }

    #[test]
    fn a_phrase_is_found_across_lines_but_not_across_code() {
        let found = violations("//! What was sent\n//! off.\n");
        assert_eq!(found, ["crates/low/src/lib.rs:1: \"sent off\": say spawned"]);
        assert!(violations("// It was sent\nfn f() {}\n// off.\n").is_empty());
    }

    #[test]
    fn documents_and_manifests_are_searched_whole() {
        let found = PlantedWorkspace::new()
            .file("docs/a.md", "A page.\n\nFor nobody's sake.\n")
            .member_with("low", "# Whoever builds it.\n", "")
            .violations(&RULE);
        let lines: Vec<_> = found.iter().filter_map(|found| found.split(": ").next()).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(lines.contains(&"docs/a.md:3") && lines.contains(&"crates/low/Cargo.toml:5"));
    }

    #[test]
    fn an_exception_holds_for_its_file_words_and_line() {
        let slogan = "Nothing lost: nothing sent off is ever lost.\n";
        let found = PlantedWorkspace::new()
            .member("low", "")
            .file("README.md", &format!("{slogan}What is sent off.\nFor nobody.\n"))
            .file("docs/a.md", slogan)
            .violations(&RULE);
        let lines: Vec<_> = found.iter().filter_map(|found| found.split(": ").next()).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        for line in ["README.md:2", "README.md:3", "docs/a.md:1"] {
            assert!(lines.contains(&line), "{found:?}");
        }
    }
}
