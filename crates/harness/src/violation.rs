//! A broken promise.

use std::fmt;

/// A broken promise, and its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise, in the words of the semantics.
    pub invariant: &'static str,
    /// The evidence.
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

/// The result of a check.
pub type Checked = Result<(), Violation>;

/// Passes if `holds`; otherwise fails with the detail.
pub fn ensure(holds: bool, invariant: &'static str, detail: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(invariant, detail())) }
}
