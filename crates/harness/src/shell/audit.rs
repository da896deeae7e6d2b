//! The auditor: compares the acknowledged calls, the output of the binary and the effects of
//! the commands.

use crate::shell::ledger::{BrokenPromise, LedgerState};
use crate::shell::snapshot::Snapshot;
use crate::violation::Checked;

pub mod births;
pub mod ends;
pub mod leaks;
pub mod messages;
pub mod operations;
#[cfg(test)]
mod tests;

/// Returns every violation in a world at rest.
pub fn audit(books: &LedgerState, world: &Snapshot) -> Vec<BrokenPromise> {
    let mut found = Findings::default();
    births::check(books, world, &mut found);
    ends::check(books, world, &mut found);
    operations::check(books, world, &mut found);
    messages::check(books, world, &mut found);
    leaks::check(world, &mut found);
    found.0
}

/// The violations found so far.
#[derive(Debug, Default)]
pub struct Findings(pub Vec<BrokenPromise>);

impl Findings {
    /// Adds the violation of a failed check of a command.
    pub fn take(&mut self, errand: Option<usize>, checked: Checked) {
        if let Err(violation) = checked {
            self.0.push(BrokenPromise { errand, violation });
        }
    }
}
