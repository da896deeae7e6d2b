//! A promise that was not kept.

use std::fmt;

/// A promise that was not kept: which, and how it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise, in the words of the semantics.
    pub invariant: &'static str,
    /// How it shows.
    pub detail: String,
}

impl Violation {
    /// A violation of `invariant`.
    pub fn new(invariant: &'static str, detail: impl Into<String>) -> Self {
        Self { invariant, detail: detail.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  {}", self.invariant, self.detail)
    }
}

/// What a check says.
pub type Checked = Result<(), Violation>;

/// Passes if `holds`; else says how it does not.
pub fn ensure(holds: bool, invariant: &'static str, detail: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(invariant, detail())) }
}
