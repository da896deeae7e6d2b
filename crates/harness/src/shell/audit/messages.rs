//! An acknowledged line is read once, or its reader has not come to its end.

use hashbrown::HashMap;
use offshoot_client::wire::State;

use super::Findings;
use crate::shell::effects::{Attempt, Effects};
use crate::shell::ledger::{Entry, LedgerMessage, LedgerState};
use crate::shell::snapshot::Snapshot;
use crate::violation::{Checked, Violation, ensure};

const ONCE: &str = "a line is read once";
const READ: &str = "a line that was acknowledged is read";
const ORDER: &str = "lines are read in the order in which they were acknowledged";

/// Checks the lines of every reader.
pub fn check(books: &LedgerState, world: &Snapshot, found: &mut Findings) {
    for entry in books.entries.iter().filter(|entry| entry.errand.reads()) {
        let number = entry.errand.number;
        let Some(effects) = world.effects.get(&number) else { continue };
        let completed = world.of(number).any(|task| task.state == State::Completed);
        let checked = effects.attempts.iter().try_for_each(|attempt| sound(entry, attempt));
        found.take(Some(number), checked);
        if completed {
            found.take(Some(number), all(entry, effects));
        }
    }
}

/// Checks that the lines of one attempt were sent, and are read once and in order.
fn sound(entry: &Entry, attempt: &Attempt) -> Checked {
    let mut last: HashMap<usize, usize> = HashMap::new();
    for (at, line) in attempt.read.iter().enumerate() {
        let place = entry.messages.iter().position(|message| message.text == *line);
        let Some(place) = place else {
            return Err(Violation::new(ONCE, format!("no driver sent {line:?}")));
        };
        let again = attempt.read[..at].contains(line);
        ensure(!again, ONCE, || format!("{line:?} was read twice"))?;
        let by = entry.messages[place].by;
        let earlier = last.insert(by, place);
        ensure(earlier.is_none_or(|earlier| earlier < place), ORDER, || {
            format!("{line:?} came after what was sent later: {:?}", attempt.read)
        })?;
    }
    Ok(())
}

/// Checks that every line acknowledged before the end of the input was read. A command with
/// several attempts passes: an attempt does not receive the lines that an earlier one took.
fn all(entry: &Entry, effects: &Effects) -> Checked {
    if effects.attempts.len() != 1 {
        return Ok(());
    }
    let closed = entry.eofs.iter().map(|ask| ask.begun).min();
    let before = |message: &&LedgerMessage| match (message.ask.acknowledged, closed) {
        (Some(acknowledged), Some(closed)) => acknowledged < closed,
        (acknowledged, None) => acknowledged.is_some(),
        (None, _) => false,
    };
    for message in entry.messages.iter().filter(before) {
        ensure(effects.last_read().contains(&message.text), READ, || {
            format!("{:?} was not: {:?}", message.text, effects.last_read())
        })?;
    }
    Ok(())
}
