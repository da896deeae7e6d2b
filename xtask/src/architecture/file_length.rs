//! Rule `file-length`: a Rust file has at most 500 lines.

use super::{Rule, RuleViolation, SourceTree};

pub(crate) const RULE: Rule =
    Rule { name: "file-length", about: "a Rust file has at most 500 lines", check };

const LIMIT: usize = 500;

fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let long = tree.rust_files().values().filter(|file| file.line_count() > LIMIT);
    long.map(|file| RuleViolation {
        rule: RULE.name,
        file: file.path.clone(),
        line: LIMIT + 1,
        message: format!(
            "the file has {} lines; split it into modules of at most {LIMIT}, one noun each",
            file.line_count()
        ),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    fn violations(lines: usize) -> Vec<String> {
        PlantedWorkspace::new().member("low", &"//\n".repeat(lines)).violations(&RULE)
    }

    #[test]
    fn the_line_after_the_limit_is_a_violation() {
        assert!(violations(500).is_empty());
        assert_eq!(
            violations(501),
            ["crates/low/src/lib.rs:501: the file has 501 lines; \
              split it into modules of at most 500, one noun each"]
        );
    }
}
