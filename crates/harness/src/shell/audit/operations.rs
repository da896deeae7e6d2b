//! The report of a command matches its effects.

use offshoot_client::wire::{Outcome, Restart, State, Task};

use super::Findings;
use crate::shell::effects::Effects;
use crate::shell::ledger::LedgerState;
use crate::shell::snapshot::Snapshot;
use crate::violation::{Checked, ensure};

const ONCE: &str = "a command that is not to be started again begins once";
const RAN: &str = "a command that is said to have ended by itself has run to its end";

/// Checks the effects of every command.
pub fn check(books: &LedgerState, world: &Snapshot, found: &mut Findings) {
    let none = Effects::default();
    for entry in &books.entries {
        let number = entry.errand.number;
        let effects = world.effects.get(&number).unwrap_or(&none);
        let check = || -> Checked {
            ensure(effects.strange.is_empty(), "a command's file is its own", || {
                format!("it holds {:?}", effects.strange)
            })?;
            let begun = effects.attempts.len();
            ensure(entry.errand.restart == Restart::OnCrash || begun <= 1, ONCE, || {
                format!("it began {begun} times")
            })?;
            match world.of(number).next() {
                Some(task) => check_report(task, effects),
                // A command whose spawn was refused must not run either.
                None => ensure(begun == 0, "what is not there does not run", || {
                    format!("it began {begun} times, and there is no task")
                }),
            }
        };
        found.take(Some(number), check());
    }
}

fn check_report(task: &Task, effects: &Effects) -> Checked {
    let begun = effects.attempts.len();
    ensure(begun <= task.attempts as usize, "every attempt is counted", || {
        format!("it began {begun} times in {} attempts", task.attempts)
    })?;
    let ends = effects.attempts.last().map_or(0, |attempt| attempt.ends);
    let by_itself = task.outcome.as_ref().is_some_and(ended_by_itself);
    ensure(!by_itself || ends == 1, RAN, || {
        format!("its last attempt came to its end {ends} times; it began {begun} times")
    })
}

/// Whether an outcome says that the command came to its own end.
pub fn ended_by_itself(outcome: &Outcome) -> bool {
    match outcome.is {
        State::Completed => true,
        State::Failed => matches!(outcome.failure.as_deref(), Some("exit" | "signal")),
        _ => false,
    }
}
