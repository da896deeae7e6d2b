//! The auditor passes a correct world, and reports each way in which a test falsifies it.

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use offshoot_client::wire::{Cancel, CommandLine, Lineage, Outcome, Restart, State, Task};

use super::*;
use crate::shell::command_task::{CommandTask, Ending, Hold, Script, ScriptOutput, Work};
use crate::shell::effects::{Attempt, Effects};
use crate::shell::ledger::{Ask, End, Entry, Kill, KillMoment, LedgerMessage, SpawnResult};
use crate::shell::lines::Lines;
use crate::shell::processes::Process;

const WORK: &str = "/work";

/// The world of every test: a parent that completes, a reader below it, a command that fails,
/// one that is lost to a kill, one that was restarted and one that was stopped.
struct Stage {
    books: LedgerState,
    world: Snapshot,
    at: Instant,
}

const PARENT: usize = 0;
const READER: usize = 1;
const FAILING: usize = 2;
const LOST: usize = 3;
const RESTARTED: usize = 4;
const STOPPED: usize = 5;

fn errand(number: usize, hold: Hold) -> CommandTask {
    let before = ScriptOutput { out: Lines::new(1, 3), err: Lines::NONE };
    CommandTask {
        number,
        name: None,
        session: "a1".into(),
        parent: None,
        restart: Restart::Never,
        timeout: None,
        grace: Duration::from_millis(100),
        work: Work::Script(Script { hold, ..Script::writing(before) }),
    }
}

fn outcome(is: State) -> Outcome {
    Outcome { exit: (is == State::Completed).then_some(0), ..Outcome::new(is) }
}

fn stopped(by: &str) -> Outcome {
    let cancelled = Cancel { by: by.into(), reason: "a whim".into(), at: "then".into() };
    Outcome { cancelled: Some(cancelled), ..outcome(State::Cancelled) }
}

fn task(errand: &CommandTask, outcome: Outcome) -> Task {
    let id = format!("id-{}", errand.number);
    Task {
        id: id.clone(),
        handle: "command-1".into(),
        name: errand.name.clone(),
        kind: "command".into(),
        session: errand.session.clone(),
        state: outcome.is,
        waiting_on: None,
        lacks: None,
        question: None,
        approval: None,
        outcome: Some(outcome),
        lineage: Lineage {
            session: "session".into(),
            parent: errand.parent.map(|parent| format!("id-{parent}")),
            root: id,
            run: None,
            tool_call: None,
            agent: None,
            depth: 0,
            detached: false,
        },
        spawned_at: "now".into(),
        started_at: None,
        ended_at: Some("1970-01-01T00:00:01Z".into()),
        age_ms: 1,
        attempts: 1,
        cancel: None,
        progress: None,
        activity: None,
        command: Some(CommandLine {
            argv: errand.argv(Path::new(WORK)),
            cwd: "/".into(),
            env: Vec::new(),
            restart: errand.restart,
        }),
        agent: None,
        spent: None,
        settling: false,
        unresponsive: false,
    }
}

fn attempt(read: &[&str], ends: usize) -> Attempt {
    Attempt { read: read.iter().map(|line| (*line).to_owned()).collect(), ends }
}

impl Stage {
    fn new() -> Self {
        let mut stage =
            Self { books: LedgerState::default(), world: Snapshot::default(), at: Instant::now() };
        let whole = [attempt(&[], 1)];
        stage.add(errand(PARENT, Hold::Gate), outcome(State::Completed), &whole);

        let reader = CommandTask { parent: Some(PARENT), ..errand(READER, Hold::Input) };
        stage.add(reader, outcome(State::Completed), &[attempt(&["one", "two"], 1)]);
        let sent = stage.ask(10);
        stage.books.entries[READER].messages = ["one", "two"]
            .map(|text| LedgerMessage { text: text.into(), by: 0, ask: sent })
            .to_vec();
        let closed = stage.ask(20);
        stage.books.entries[READER].eofs.push(closed);

        let mut failing = errand(FAILING, Hold::Nothing);
        if let Work::Script(script) = &mut failing.work {
            script.ending = Ending::Exit(7);
        }
        let exit =
            Outcome { failure: Some("exit".into()), exit: Some(7), ..outcome(State::Failed) };
        stage.add(failing, exit, &whole);

        stage.add(errand(LOST, Hold::Gate), outcome(State::Lost), &[attempt(&[], 0)]);

        let again = CommandTask { restart: Restart::OnCrash, ..errand(RESTARTED, Hold::Gate) };
        let attempts = [attempt(&[], 0), attempt(&[], 1)];
        stage.add(again, outcome(State::Completed), &attempts);

        stage.add(errand(STOPPED, Hold::Gate), stopped("host"), &[attempt(&[], 0)]);
        let stop = stage.ask(30);
        stage.books.entries[STOPPED].stops.push(stop);

        let from = stage.at + Duration::from_millis(5);
        stage.books.strikes.push(Kill {
            from,
            to: from,
            blow: KillMoment::Kill,
            moment: "at any time",
            clock: Timestamp::UNIX_EPOCH,
        });
        stage
    }

    fn add(&mut self, errand: CommandTask, outcome: Outcome, attempts: &[Attempt]) {
        let mut task = task(&errand, outcome);
        task.attempts = attempts.len() as u32;
        let effects = Effects { attempts: attempts.to_vec(), strange: Vec::new() };
        self.world.effects.insert(errand.number, effects);
        self.books.entries.push(Entry {
            begun: self.at,
            spawned: SpawnResult::Detached { id: task.id.clone(), at: self.at },
            ends: End::of(&task).into_iter().collect(),
            ended: Some(self.at + Duration::from_secs(1)),
            stops: Vec::new(),
            messages: Vec::new(),
            eofs: Vec::new(),
            history: Vec::new(),
            errand,
        });
        self.world.tasks.push((Some(self.books.entries.len() - 1), task));
    }

    fn ask(&self, millis: u64) -> Ask {
        let begun = self.at + Duration::from_millis(millis);
        Ask { begun, acknowledged: Some(begun + Duration::from_millis(1)) }
    }

    fn task(&mut self, number: usize) -> &mut Task {
        &mut self.world.tasks[number].1
    }

    /// Sets the same end in every record.
    fn ended(&mut self, number: usize, outcome: Outcome) {
        let task = self.task(number);
        task.state = outcome.is;
        task.outcome = Some(outcome);
        let end = End::of(task);
        self.books.entries[number].ends = end.into_iter().collect();
    }

    fn effects(&mut self, number: usize) -> &mut Effects {
        self.world.effects.get_mut(&number).unwrap()
    }

    fn attempt(&mut self, number: usize) -> &mut Attempt {
        self.effects(number).attempts.last_mut().unwrap()
    }

    fn complaints(&self) -> Vec<&'static str> {
        audit(&self.books, &self.world).iter().map(|found| found.violation.invariant).collect()
    }
}

/// Asserts that the auditor reports exactly this after the change.
fn finds(promise: &str, falsify: impl FnOnce(&mut Stage)) {
    let mut stage = Stage::new();
    falsify(&mut stage);
    let complaints = stage.complaints();
    assert!(complaints.contains(&promise), "{promise}: {complaints:?}");
}

#[test]
fn a_world_in_which_all_is_well_passes() {
    let found = audit(&Stage::new().books, &Stage::new().world);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_missing_task_is_found() {
    finds("what was acknowledged is there", |stage| drop(stage.world.tasks.pop()));
    finds("what is not there does not run", |stage| {
        stage.world.tasks.pop();
        stage.books.entries[STOPPED].spawned = SpawnResult::Unknown;
    });
}

#[test]
fn a_task_that_is_there_twice_is_found() {
    finds("a task that was spawned once exists once", |stage| {
        let (number, mut task) = stage.world.tasks[PARENT].clone();
        task.id = "another".into();
        stage.world.tasks.push((number, task));
    });
    finds("a task that was spawned once exists once", |stage| {
        stage.world.tasks.push(stage.world.tasks[PARENT].clone());
    });
}

#[test]
fn a_task_that_differs_from_its_spawn_is_found() {
    let promise = "a task is the one that was spawned";
    finds(promise, |stage| stage.task(READER).lineage.parent = None);
    finds(promise, |stage| stage.task(READER).session = "b1".into());
    finds(promise, |stage| stage.task(READER).name = Some("other".into()));
    finds(promise, |stage| stage.world.tasks[READER].0 = None);
}

#[test]
fn a_task_that_has_not_ended_is_found() {
    finds("every task ends", |stage| {
        stage.task(PARENT).state = State::Running;
        stage.task(PARENT).outcome = None;
    });
}

#[test]
fn an_end_that_changes_is_found() {
    let promise = "an end that was told never changes";
    finds(promise, |stage| {
        stage.task(PARENT).state = State::Failed;
        stage.task(PARENT).outcome = Some(outcome(State::Failed));
    });
    finds(promise, |stage| stage.task(PARENT).ended_at = Some("later".into()));
    finds(promise, |stage| stage.task(RESTARTED).attempts = 3);
    finds(promise, |stage| {
        let end = stage.books.entries[PARENT].ends[0].clone();
        stage.books.entries[PARENT].ends.push(End { attempts: 9, ..end });
    });
}

#[test]
fn an_end_that_cannot_have_happened_is_found() {
    let promise = "the end is what really happened";
    finds(promise, |stage| stage.ended(FAILING, outcome(State::Completed)));
    finds(promise, |stage| stage.ended(FAILING, outcome(State::Failed)));
    finds(promise, |stage| {
        let wrong =
            Outcome { exit: Some(8), failure: Some("exit".into()), ..outcome(State::Failed) };
        stage.ended(FAILING, wrong);
    });
    finds(promise, |stage| {
        let timeout = Outcome { failure: Some("timeout".into()), ..outcome(State::Failed) };
        stage.ended(PARENT, timeout);
    });
    finds(promise, |stage| {
        let gave_up = Outcome { failure: Some("crash_loop".into()), ..outcome(State::Failed) };
        stage.ended(RESTARTED, gave_up);
    });
    finds(promise, |stage| {
        stage.task(PARENT).outcome = None;
        stage.books.entries[PARENT].ends.clear();
    });
}

#[test]
fn a_task_that_is_lost_without_a_kill_or_although_it_restarts_is_found() {
    let promise = "only what a killed daemon executed is lost";
    finds(promise, |stage| stage.books.strikes.clear());
    finds(promise, |stage| stage.books.strikes[0].blow = KillMoment::Term);
    finds(promise, |stage| {
        stage.books.entries[LOST].begun += Duration::from_millis(6);
    });
    finds(promise, |stage| {
        stage.books.strikes[0].clock = Timestamp::MAX;
    });
    finds(promise, |stage| stage.ended(RESTARTED, outcome(State::Lost)));
}

#[test]
fn a_cancelled_task_without_a_cancel_is_found() {
    finds("only what was stopped is cancelled", |stage| {
        stage.books.entries[STOPPED].stops.clear();
    });
    let mut stage = Stage::new();
    stage.ended(READER, stopped("host"));
    let stop = stage.ask(40);
    stage.books.entries[PARENT].stops.push(stop);
    assert!(stage.complaints().is_empty(), "a stop reaches what is below");
    let promise = "only what was stopped is cancelled";
    finds(promise, |stage| stage.ended(READER, stopped("end of owner id-0")));
    finds(promise, |stage| stage.ended(STOPPED, stopped("shutdown")));
}

#[test]
fn a_command_that_did_not_run_to_its_end_or_began_twice_is_found() {
    let promise = "a command that is said to have ended by itself has run to its end";
    finds(promise, |stage| stage.attempt(PARENT).ends = 0);
    finds(promise, |stage| stage.attempt(FAILING).ends = 0);
    finds(promise, |stage| stage.attempt(RESTARTED).ends = 0);
    finds(promise, |stage| stage.effects(PARENT).attempts.clear());
    finds("a command that is not to be started again begins once", |stage| {
        stage.effects(LOST).attempts.push(attempt(&[], 0));
    });
    finds("every attempt is counted", |stage| {
        stage.effects(RESTARTED).attempts.push(attempt(&[], 1));
    });
    finds("a command's file is its own", |stage| {
        stage.effects(PARENT).strange.push("x".into());
    });
}

#[test]
fn lines_that_are_lost_repeated_shuffled_or_made_up_are_found() {
    finds("a line that was acknowledged is read", |stage| {
        stage.attempt(READER).read.pop();
    });
    finds("a line is read once", |stage| stage.attempt(READER).read.push("two".into()));
    finds("a line is read once", |stage| stage.attempt(READER).read.push("three".into()));
    finds("lines are read in the order in which they were acknowledged", |stage| {
        stage.attempt(READER).read.reverse();
    });
}

#[test]
fn a_process_that_is_left_is_found_and_a_foreign_one_is_not() {
    let process = Process { pid: 7, line: "sh".into(), mark: Some("id-0".into()), ours: false };
    finds("no process is left of a task", |stage| stage.world.processes.push(process.clone()));
    finds("no process is left of a task", |stage| {
        stage.world.processes.push(Process { mark: None, ours: true, ..process.clone() });
    });
    let mut stage = Stage::new();
    stage.world.processes.push(Process { mark: Some("id-of-others".into()), ..process });
    assert!(stage.complaints().is_empty());
}

#[test]
fn the_commands_covered_by_an_acknowledged_stop_must_end() {
    let mut stage = Stage::new();
    assert!(stage.books.must_end(STOPPED));
    assert!(!stage.books.must_end(READER));
    let stop = stage.ask(40);
    stage.books.entries[PARENT].stops.push(Ask { acknowledged: None, ..stop });
    assert!(!stage.books.must_end(READER), "no driver asked it to stop");
    stage.books.entries[PARENT].stops.push(stop);
    assert!(stage.books.must_end(READER), "it is below what was stopped");
    assert!(!stage.books.must_end(LOST));
    stage.books.sessions_stopped.push(("a1".into(), stop));
    assert!(stage.books.must_end(LOST), "its session was stopped");
}
