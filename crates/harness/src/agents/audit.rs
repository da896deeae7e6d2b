//! The comparison of a directory with the result of a run without a crash.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use offshoot_core::{Change, Outcome, Owner, RowBody, Task};

use crate::agents::model_script::CAST;
use crate::agents::records::TaskRecords;
use crate::agents::transcript::{TranscriptLine, lines};
use crate::violation::{Checked, Violation, ensure};

/// A request to the model: the worker, the conversation, and the number of answers in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ask {
    /// The worker, counted from 1.
    pub life: usize,
    /// The agent of the conversation.
    pub who: String,
    /// The number of answers in it.
    pub answers: usize,
}

/// The evidence about a directory: its contents, and the events outside it.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The contents of the disk at each kill.
    pub kills: Vec<TaskRecords>,
    /// The commits of the first worker, by name.
    pub commits: Vec<String>,
    /// The contents of the disk at the end.
    pub end: TaskRecords,
    /// The requests to the model, in order.
    pub asked: Vec<Ask>,
    /// The effects of the tools.
    pub effects: Vec<String>,
}

/// The result of a run without a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Original {
    talks: BTreeMap<String, Vec<TranscriptLine>>,
    effects: Vec<String>,
}

impl Original {
    /// The result that this evidence shows.
    pub fn of(evidence: &Evidence) -> Self {
        let mut effects = evidence.effects.clone();
        effects.sort();
        Self { talks: talks(&evidence.end), effects }
    }
}

fn talks(books: &TaskRecords) -> BTreeMap<String, Vec<TranscriptLine>> {
    let names = books.histories.iter().filter_map(|(id, blocks)| {
        Some((books.names.get(id)?.clone(), lines(blocks, &books.names)))
    });
    names.collect()
}

/// Checks the promises that hold after each death of a worker, and at the end: each result that
/// arrives is in one place.
pub fn check_rows(books: &TaskRecords) -> Checked {
    for task in &books.tasks {
        let (id, owner) = (task.id(), Owner::Task(task.id()));
        let queued = books.logged(id, |change| matches!(change, Change::MessageQueued(_)));
        let unread = books.unread(owner, |body| matches!(body, RowBody::Message(_)));
        let told = books.count_text(id, "<notice kind=\"message\"");
        ensure(queued == unread + told, "S4.2 a row is unread, or in the history, once", || {
            let name = task.handle();
            format!("{queued} messages were queued for {name}: {unread} are unread, {told} told")
        })?;
        if let Owner::Task(parent) = task.owner() {
            let asked = books.logged(id, |change| matches!(change, Change::Asked(_)));
            let unread = books.unread(
                Owner::Task(parent),
                |body| matches!(body, RowBody::Question { task, .. } if *task == id),
            );
            let told = format!("<notice kind=\"question\" task=\"{}\"", task.handle());
            let told = books.count_text(parent, &told);
            ensure(
                asked == unread + told,
                "S4.2 a row is unread, or in the history, once",
                || {
                    let name = task.handle();
                    format!("{asked} questions of {name}: {unread} are unread, {told} told")
                },
            )?;
        }
        check_end(books, task)?;
    }
    Ok(())
}

/// Checks that an end is written once, by the holder of the lease.
fn check_end(books: &TaskRecords, task: &Task) -> Checked {
    let (id, name) = (task.id(), task.handle());
    let ends = books.logged(id, |change| matches!(change, Change::Ended(_)));
    let due = usize::from(!task.is_live());
    ensure(ends == due, "S2.1 a task ends once", || format!("{name} has ended {ends} times"))?;
    let attempts = books.events.iter().filter(|event| event.task == Some(id));
    let mut attempts = attempts.filter_map(|event| match event.change {
        Change::Started { attempt } => Some(attempt),
        _ => None,
    });
    let last = attempts.next_back().unwrap_or(task.attempts);
    ensure(task.attempts == last, "S9.1 a writer for a task holds its lease", || {
        format!("attempt {last} at {name} has begun, but attempt {} has written", task.attempts)
    })?;
    if let Owner::Task(parent) = task.owner() {
        let unread = books
            .unread(task.owner(), |body| matches!(body, RowBody::Result(ended) if *ended == id));
        let told = books
            .count_text(parent, &format!("<notice kind=\"result\" task=\"{name}\" id=\"{id}\""));
        ensure(due == unread + told, "S4.3 every result is told once", || {
            format!(
                "the end of {name} ({}) is {unread} times unread and {told} times told",
                task.state
            )
        })?;
    }
    Ok(())
}

/// Compares the evidence with a run without a crash.
pub fn audit(evidence: &Evidence, original: &Original) -> Checked {
    check_rest(&evidence.end)?;
    check_rows(&evidence.end)?;
    check_asked(evidence)?;
    let unknown = check_talks(evidence, original)?;
    check_effects(evidence, original, &unknown)
}

/// Checks that no task is running, no row unread and no timer set.
fn check_rest(books: &TaskRecords) -> Checked {
    let mut names: Vec<_> = books.tasks.iter().map(Task::handle).collect();
    names.sort_unstable();
    let mut cast = CAST;
    cast.sort_unstable();
    ensure(names == cast, "S9.4 no agent is spawned twice", || format!("there are {names:?}"))?;
    for task in &books.tasks {
        let completed = matches!(task.ended(), Some(Outcome::Completed { .. }));
        ensure(completed && task.lease.worker.is_none(), "nothing is left running", || {
            format!("{} is {}: {:?}", task.handle(), task.state, task.outcome)
        })?;
        let unread = books.unread(Owner::Task(task.id()), |_| true);
        ensure(unread == 0, "nothing is left unread", || {
            format!("{} has {unread} unread rows", task.handle())
        })?;
    }
    ensure(books.timers.is_empty(), "nothing is left armed", || format!("{:?}", books.timers))
}

/// Checks that a committed answer is not requested again, and that no agent requests the same
/// twice during the life of one worker.
fn check_asked(evidence: &Evidence) -> Checked {
    let mut seen = HashSet::new();
    for ask in &evidence.asked {
        let Ask { life, who, answers } = ask;
        ensure(seen.insert(ask), "S9.3 nothing is asked twice", || {
            format!("worker {life} asked again for answer {} to {who}", answers + 1)
        })?;
        let dead = evidence.kills.iter().take(life - 1);
        let committed = dead.map(|books| books.answers(who)).max().unwrap_or(0);
        ensure(*answers >= committed, "S9.3 a committed answer is never asked for again", || {
            format!(
                "worker {life} asked for answer {} to {who}, who had {committed} already",
                answers + 1
            )
        })?;
    }
    Ok(())
}

/// The number of requests that were repeated because the answer was on its way when a worker
/// died.
pub fn repeated(evidence: &Evidence) -> usize {
    let different: HashSet<_> = evidence.asked.iter().map(|ask| (&ask.who, ask.answers)).collect();
    evidence.asked.len() - different.len()
}

/// Checks that histories are the same as without a crash, except for calls with an unknown
/// outcome. Returns those calls.
fn check_talks(
    evidence: &Evidence,
    original: &Original,
) -> Result<HashSet<(String, String)>, Violation> {
    let mut unknown = HashSet::new();
    let now = talks(&evidence.end);
    for (name, was) in &original.talks {
        let is = now.get(name).map(Vec::as_slice).unwrap_or_default();
        let differs = is.iter().zip(was).position(|(is, was)| !is.agrees_with(was));
        let differs = differs.or((is.len() != was.len()).then_some(is.len().min(was.len())));
        if let Some(at) = differs {
            let detail = format!(
                "line {at} of {name} is\n  {:?}\n  and was\n  {:?}",
                is.get(at),
                was.get(at)
            );
            return Err(Violation::new("a history is what it is without a crash", detail));
        }
        let unknowns = is.iter().filter(|line| line.is_unknown());
        unknown.extend(unknowns.map(|line| (name.clone(), line.call.clone().unwrap_or_default())));
    }
    let begun: HashSet<_> = evidence.kills.iter().flat_map(|books| &books.begun).cloned().collect();
    ensure(unknown == begun, "S9.3 unknown is what began and did not end", || {
        format!("{begun:?} had begun, and of {unknown:?} the outcome is unknown")
    })?;
    Ok(unknown)
}

/// Checks that a call that must not be repeated is made once, or perhaps not at all if the
/// model is told so, and that every repeatable call is made.
fn check_effects(
    evidence: &Evidence,
    original: &Original,
    unknown: &HashSet<(String, String)>,
) -> Checked {
    let strange = evidence.effects.iter().find(|done| !original.effects.contains(done));
    ensure(strange.is_none(), "nothing else is done than without a crash", || {
        format!("{strange:?} was done")
    })?;
    let mut missing = 0;
    for line in &original.effects {
        let times = evidence.effects.iter().filter(|done| *done == line).count();
        let lasting = line.starts_with("note ");
        ensure(!lasting || times <= 1, "S9.3 a lasting tool never runs twice", || {
            format!("{line:?} was done {times} times")
        })?;
        ensure(lasting || times >= 1, "S9.3 a tool that may be repeated runs", || {
            format!("{line:?} was not done")
        })?;
        let lives = evidence.kills.len() + 1;
        ensure(times <= lives, "S9.3 only what was in flight is repeated", || {
            format!("{line:?} was done {times} times in {lives} lives")
        })?;
        missing += usize::from(times == 0);
    }
    ensure(missing <= unknown.len(), "S9.3 an agent that got no doubtful result has none", || {
        format!("{missing} calls were not made, and {} are unknown", unknown.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(life: usize, who: &str, answers: usize) -> Ask {
        Ask { life, who: who.to_owned(), answers }
    }

    fn evidence(asked: Vec<Ask>, effects: &[&str]) -> Evidence {
        let effects = effects.iter().map(|line| (*line).to_owned()).collect();
        Evidence { kills: vec![TaskRecords::default()], asked, effects, ..Evidence::default() }
    }

    #[test]
    fn only_the_next_worker_may_repeat_a_request_in_flight() {
        let next = evidence(vec![ask(1, "a", 0), ask(2, "a", 0)], &[]);
        assert_eq!(check_asked(&next), Ok(()));
        assert_eq!(repeated(&next), 1);
        let same = evidence(vec![ask(1, "a", 0), ask(1, "a", 0)], &[]);
        assert!(check_asked(&same).is_err());
    }

    #[test]
    fn a_lasting_effect_occurs_once_or_is_reported_as_unknown() {
        let effects = ["note x", "mark y"].map(str::to_owned).to_vec();
        let original = Original { effects, ..Original::default() };
        let told = HashSet::from([("a".to_owned(), "call_1".to_owned())]);
        let check = |done: &[&str], told| check_effects(&evidence(vec![], done), &original, told);
        let none = HashSet::new();
        assert_eq!(check(&["note x", "mark y", "mark y"], &none), Ok(()));
        assert_eq!(check(&["mark y"], &told), Ok(()));
        assert!(check(&["mark y"], &none).is_err());
        assert!(check(&["note x", "note x", "mark y"], &told).is_err());
        assert!(check(&["note x"], &none).is_err());
    }
}
