//! The check of licence expressions.

mod allowed;

use anyhow::{Context, Result};
use spdx::{Expression, Licensee, ParseMode};

pub(crate) use allowed::ALLOWED;

/// The licences of the allow-list, parsed.
#[derive(Debug)]
pub(crate) struct Policy {
    allowed: Vec<Licensee>,
}

/// The result of the policy for one licence expression.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// The allow-list alone can satisfy it.
    Allowed,
    /// It requires a licence that is not on the list.
    NotAllowed,
    /// It is not an SPDX expression, for the reason given.
    Unreadable(String),
    /// The package names no licence.
    Missing,
}

impl Policy {
    /// A policy that allows these licences and no others.
    pub(crate) fn new(allowed: &[&str]) -> Result<Self> {
        let parse = |id: &&str| {
            Licensee::parse(id).with_context(|| format!("`{id}` is not an SPDX licence"))
        };
        Ok(Self { allowed: allowed.iter().map(parse).collect::<Result<_>>()? })
    }

    /// Applies the policy to a package's licence expression.
    pub(crate) fn rule(&self, expression: Option<&str>) -> Ruling {
        let Some(expression) = expression else {
            return Ruling::Missing;
        };
        // Published crates still use the old `MIT/Apache-2.0`, which only the lax mode reads.
        match Expression::parse_mode(expression, ParseMode::LAX) {
            Ok(parsed) if parsed.evaluate(|req| self.allowed.iter().any(|l| l.satisfies(req))) => {
                Ruling::Allowed
            }
            Ok(_) => Ruling::NotAllowed,
            Err(error) => Ruling::Unreadable(error.reason.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(expression: &str) -> Ruling {
        Policy::new(ALLOWED).unwrap().rule(Some(expression))
    }

    #[test]
    fn one_allowed_branch_of_an_or_is_enough() {
        assert_eq!(rule("GPL-3.0-only OR MIT"), Ruling::Allowed);
        assert_eq!(rule("MIT/Apache-2.0"), Ruling::Allowed);
    }

    #[test]
    fn every_branch_of_an_and_must_be_allowed() {
        assert_eq!(rule("(MIT OR Apache-2.0) AND Unicode-3.0"), Ruling::Allowed);
        assert_eq!(rule("MIT AND GPL-3.0-only"), Ruling::NotAllowed);
    }

    #[test]
    fn an_exception_counts_only_where_it_is_listed() {
        assert_eq!(rule("Apache-2.0 WITH LLVM-exception"), Ruling::Allowed);
        assert_eq!(rule("GPL-2.0-only WITH Classpath-exception-2.0"), Ruling::NotAllowed);
    }

    #[test]
    fn nonsense_and_silence_are_distinguished() {
        assert!(matches!(rule("do what you like"), Ruling::Unreadable(_)));
        let policy = Policy::new(ALLOWED).unwrap();
        assert_eq!(policy.rule(None), Ruling::Missing);
    }

    #[test]
    fn a_list_with_a_typo_is_an_error_that_names_it() {
        let error = Policy::new(&["MIT", "Apachee"]).unwrap_err();
        assert!(error.to_string().contains("`Apachee`"), "{error}");
    }
}
