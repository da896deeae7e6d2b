//! Every task reaches one end, which is true and never changes.

use std::time::Duration;

use jiff::Timestamp;
use offshoot_client::wire::{Outcome, Restart, State, Task};

use super::Findings;
use crate::shell::command_task::{Ending, Work};
use crate::shell::ledger::{End, Entry, KillMoment, LedgerState, SpawnResult};
use crate::shell::snapshot::Snapshot;
use crate::violation::{Checked, Violation, ensure};

const ENDS: &str = "every task ends";
const FINAL: &str = "an end that was told never changes";
const TRUE: &str = "the end is what really happened";
const LOST: &str = "only what a killed daemon executed is lost";
const STOPPED: &str = "only what was stopped is cancelled";

/// The number of silent attempts after which a command is given up.
const ATTEMPTS: usize = 3;

/// The time limit for the orderly end of a daemon.
const ORDERLY: Duration = Duration::from_secs(20);

/// Checks the end of every task.
pub fn check(books: &LedgerState, world: &Snapshot, found: &mut Findings) {
    for (number, task) in &world.tasks {
        let Some(entry) = number.and_then(|number| books.entry(number)) else { continue };
        found.take(
            *number,
            one(entry, task).and_then(|outcome| Story { books, world, entry, task }.check(outcome)),
        );
        found.take(*number, check_received(entry, task));
    }
}

/// Checks that the task has one end, equal to every earlier report.
fn one<'a>(entry: &Entry, task: &'a Task) -> Result<&'a Outcome, Violation> {
    let end = End::of(task).ok_or_else(|| {
        Violation::new(ENDS, format!("{} is {} at rest", task.id, task.state.word()))
    })?;
    for told in &entry.ends {
        ensure(*told == end, FINAL, || format!("it was {told:?}\n  and is {end:?}"))?;
    }
    let outcome = task.outcome.as_ref().filter(|outcome| outcome.is == task.state);
    outcome.ok_or_else(|| {
        Violation::new(TRUE, format!("it is {}, and {:?}", task.state.word(), task.outcome))
    })
}

/// The facts that an end must fit.
struct Story<'a> {
    books: &'a LedgerState,
    world: &'a Snapshot,
    entry: &'a Entry,
    task: &'a Task,
}

impl Story<'_> {
    /// Checks that the end is possible.
    fn check(&self, outcome: &Outcome) -> Checked {
        match outcome.is {
            State::Completed => ensure(self.can_complete(outcome), TRUE, || {
                format!("it cannot complete so: {outcome:?}")
            }),
            State::Failed => {
                ensure(self.can_fail(outcome), TRUE, || format!("it cannot fail so: {outcome:?}"))
            }
            State::Cancelled => ensure(self.can_stop(outcome), STOPPED, || {
                format!("no driver stopped it or one above it: {outcome:?}")
            }),
            State::Lost => self.check_loss(),
            State::Queued | State::Running | State::Waiting => {
                Err(Violation::new(TRUE, format!("this is no end: {outcome:?}")))
            }
        }
    }

    fn can_complete(&self, outcome: &Outcome) -> bool {
        self.natural() == Some(Ending::Exit(0)) && outcome.exit.is_none_or(|code| code == 0)
    }

    fn can_fail(&self, outcome: &Outcome) -> bool {
        let errand = &self.entry.errand;
        match outcome.failure.as_deref() {
            Some("exit") => match outcome.exit {
                Some(code) => code != 0 && self.natural() == Some(Ending::Exit(code)),
                None => false,
            },
            Some("signal") => outcome.signal.map(Ending::Signal) == self.natural(),
            Some("timeout") => errand.timeout.is_some(),
            Some("crash_loop") => errand.restart == Restart::OnCrash && self.kills() >= ATTEMPTS,
            _ => errand.work == Work::Missing && outcome.start_error.is_some(),
        }
    }

    /// Whether the task can have been stopped in this way: by the orderly end of its daemon, by
    /// an ancestor that did not complete, or by a driver, perhaps with its session.
    fn can_stop(&self, outcome: &Outcome) -> bool {
        let (books, number) = (self.books, self.entry.errand.number);
        let by = outcome.cancelled.as_ref().map_or("", |cancelled| cancelled.by.as_str());
        let incomplete = |above: &Entry| {
            self.world.of(above.errand.number).any(|task| task.state != State::Completed)
        };
        let session = &self.entry.errand.session;
        match by {
            // Such an end takes time.
            "shutdown" => books.strikes.iter().any(|strike| {
                strike.blow == KillMoment::Term && strike.to + ORDERLY >= self.entry.begun
            }),
            by if by.starts_with("end of owner") => books.line(number).skip(1).any(incomplete),
            _ => {
                books.line(number).any(|entry| !entry.stops.is_empty())
                    || books.sessions_stopped.iter().any(|(stopped, _)| stopped == session)
            }
        }
    }

    fn check_loss(&self) -> Checked {
        ensure(self.entry.errand.restart == Restart::Never, LOST, || {
            "it was to be started again, and is lost".into()
        })?;
        ensure(self.kills() > 0, LOST, || "no daemon was killed while it lived".into())
    }

    /// The number of daemons killed during the life of the task, by the clock of its record.
    fn kills(&self) -> usize {
        let ended = self.task.ended_at.as_deref().and_then(|at| at.parse().ok());
        self.books.kills_until(self.entry.begun, ended.unwrap_or(Timestamp::MIN))
    }

    /// The end of the command without a stop.
    fn natural(&self) -> Option<Ending> {
        self.entry.errand.script().map(|script| script.ending)
    }
}

/// Checks that a waiting driver received the end.
fn check_received(entry: &Entry, task: &Task) -> Checked {
    let (SpawnResult::Attached { code, whole }, Some(outcome)) = (&entry.spawned, &task.outcome)
    else {
        return Ok(());
    };
    let expected = match (outcome.is, outcome.failure.as_deref()) {
        (State::Completed, _) => 0,
        (State::Cancelled, _) => 3,
        (State::Lost, _) => 4,
        (_, Some("timeout")) => 124,
        _ => match (outcome.exit, outcome.signal, &outcome.start_error) {
            (Some(exit), ..) => exit,
            (None, Some(signal), _) => 128 + signal,
            (None, None, Some(_)) => 127,
            (None, None, None) => 1,
        },
    };
    ensure(*code == expected, "who stays with a command is told its end", || {
        format!("the call ended with {code}, and the task is {outcome:?}")
    })?;
    whole.clone()
}
