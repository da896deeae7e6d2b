//! The auditor: holds what was acknowledged, what the binary says and what the
//! commands did against each other.

use crate::shell::ledger::{Found, LedgerState};
use crate::shell::snapshot::Snapshot;
use crate::violation::Checked;

pub mod births;
pub mod ends;
pub mod leaks;
pub mod messages;
pub mod operations;
#[cfg(test)]
mod tests;

/// Everything that is wrong in a world at rest.
pub fn audit(books: &LedgerState, world: &Snapshot) -> Vec<Found> {
    let mut found = Findings::default();
    births::check(books, world, &mut found);
    ends::check(books, world, &mut found);
    operations::check(books, world, &mut found);
    messages::check(books, world, &mut found);
    leaks::check(world, &mut found);
    found.0
}

/// What was found so far.
#[derive(Debug, Default)]
pub struct Findings(pub Vec<Found>);

impl Findings {
    /// Adds what a check of an errand says.
    pub fn take(&mut self, errand: Option<usize>, checked: Checked) {
        if let Err(violation) = checked {
            self.0.push(Found { errand, violation });
        }
    }
}
