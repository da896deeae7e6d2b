//! A place that breaks a rule.

use std::fmt;

/// One place that breaks a rule, and the way to mend it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleViolation {
    /// The rule's name.
    pub(crate) rule: &'static str,
    /// The file, relative to the root of the tree.
    pub(crate) file: String,
    /// The line, counted from one.
    pub(crate) line: usize,
    /// The fact, and what to do about it.
    pub(crate) message: String,
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
