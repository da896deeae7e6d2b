//! The ledger: the requested and the acknowledged operations, in the memory of the one process
//! that is not killed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use jiff::Timestamp;
use offshoot_client::wire::{Outcome, State, Task};
use parking_lot::{Condvar, Mutex};

use crate::rng::Rng;
use crate::shell::binary::CommandResult;
use crate::shell::command_task::CommandTask;
use crate::shell::gate::PipeGate;
use crate::violation::{Checked, Violation};

/// The records of the drivers and the killer.
#[derive(Debug, Default)]
pub struct Ledger {
    books: Mutex<LedgerState>,
    changed: Condvar,
    gates: Mutex<HashMap<usize, PipeGate>>,
}

/// The contents of the ledger.
#[derive(Clone, Debug, Default)]
pub struct LedgerState {
    /// Every command, by its number less the first one's.
    pub entries: Vec<Entry>,
    /// The number of the first command.
    pub first: usize,
    /// Every kill of a daemon.
    pub strikes: Vec<Kill>,
    /// Stops of whole sessions.
    pub sessions_stopped: Vec<(String, Ask)>,
    /// The number of calls begun.
    pub begun: u64,
    /// The number of calls acknowledged.
    pub acknowledged: u64,
    /// The permitted refusals, by their reason.
    pub refused: BTreeMap<String, u64>,
    /// Calls that failed because the daemon was killed during them.
    pub cut: Vec<String>,
    /// The violations seen so far.
    pub broken: Vec<BrokenPromise>,
}

/// A kill of a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// A time before the kill.
    pub from: Instant,
    /// A time after the kill.
    pub to: Instant,
    /// The kind of kill.
    pub blow: KillMoment,
    /// The moment of the kill, as one word.
    pub moment: &'static str,
    /// The wall clock at the kill.
    pub clock: Timestamp,
}

/// The way in which a daemon is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillMoment {
    /// With KILL, which it cannot handle.
    Kill,
    /// With TERM, for an orderly end.
    Term,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When the call was begun.
    pub begun: Instant,
    /// When the call was acknowledged.
    pub acknowledged: Option<Instant>,
}

/// A broken promise and its command.
#[derive(Clone, Debug)]
pub struct BrokenPromise {
    /// The command it is about.
    pub errand: Option<usize>,
    /// The promise.
    pub violation: Violation,
}

/// One command.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The spawned command.
    pub errand: CommandTask,
    /// When it was drawn.
    pub begun: Instant,
    /// The acknowledgement of the spawn.
    pub spawned: SpawnResult,
    /// The reported ends of its task: one, if promises are kept.
    pub ends: Vec<End>,
    /// When the end was first reported.
    pub ended: Option<Instant>,
    /// Requests to stop it.
    pub stops: Vec<Ask>,
    /// Lines sent to it.
    pub messages: Vec<LedgerMessage>,
    /// Requests to close its input.
    pub eofs: Vec<Ask>,
    /// The history of the command, for people.
    pub history: Vec<(Instant, String)>,
}

/// The acknowledgement of a spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnResult {
    /// The spawn was not acknowledged.
    Unknown,
    /// The task was spawned in the background.
    Detached {
        /// The id of the task.
        id: String,
        /// When it was acknowledged.
        at: Instant,
    },
    /// The attached call reported the end of the task.
    Attached {
        /// The exit code.
        code: i32,
        /// Whether the call showed the whole output of the command.
        whole: Checked,
    },
}

/// The final facts about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The id.
    pub id: String,
    /// The state.
    pub state: State,
    /// The outcome.
    pub outcome: Option<Outcome>,
    /// When the task ended.
    pub at: Option<String>,
    /// The number of attempts.
    pub attempts: u32,
}

/// A line for the input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerMessage {
    /// The line.
    pub text: String,
    /// The number of the driver that sent it. A driver waits for an acknowledgement before it
    /// sends the next line.
    pub by: usize,
    /// When it was sent, and when it was acknowledged.
    pub ask: Ask,
}

impl End {
    /// The end of a task, if it has ended.
    pub fn of(task: &Task) -> Option<Self> {
        task.state.is_terminal().then(|| Self {
            id: task.id.clone(),
            state: task.state,
            outcome: task.outcome.clone(),
            at: task.ended_at.clone(),
            attempts: task.attempts,
        })
    }
}

impl Ask {
    /// A request made by this call, acknowledged if the call succeeded.
    pub fn of(said: &CommandResult) -> Self {
        Self { begun: said.began, acknowledged: said.is_done().then_some(said.ended) }
    }
}

impl Entry {
    /// The id of the task, if it is known.
    pub fn id(&self) -> Option<&str> {
        match &self.spawned {
            SpawnResult::Detached { id, .. } => Some(id),
            _ => self.ends.first().map(|end| end.id.as_str()),
        }
    }

    /// Whether the end of the task is still unknown.
    pub fn is_open(&self) -> bool {
        self.ends.is_empty() && self.spawned != SpawnResult::Unknown
    }

    /// Records an end, unless it is known.
    pub fn saw(&mut self, end: End) {
        if !self.ends.contains(&end) {
            let outcome = serde_json::to_string(&end.outcome).unwrap_or_default();
            self.history.push((Instant::now(), format!("seen {}: {outcome}", end.state.word())));
            self.ends.push(end);
            self.ended.get_or_insert_with(Instant::now);
        }
    }
}

impl LedgerState {
    /// The entry of a command.
    pub fn entry(&self, number: usize) -> Option<&Entry> {
        self.entries.get(number.checked_sub(self.first)?)
    }

    /// The entry of a command, to change.
    pub fn entry_mut(&mut self, number: usize) -> Option<&mut Entry> {
        self.entries.get_mut(number.checked_sub(self.first)?)
    }

    /// The command and its ancestors, lowest first.
    pub fn line(&self, number: usize) -> impl Iterator<Item = &Entry> {
        let above = |entry: &&Entry| entry.errand.parent.and_then(|above| self.entry(above));
        std::iter::successors(self.entry(number), above)
    }

    /// Whether an acknowledged stop covers this command: a stop of itself, of an ancestor or of
    /// its session, requested after its spawn was acknowledged.
    pub fn must_end(&self, number: usize) -> bool {
        let Some(Entry { spawned: SpawnResult::Detached { at, .. }, errand, .. }) =
            self.entry(number)
        else {
            return false;
        };
        let covers = |ask: &Ask| ask.acknowledged.is_some() && ask.begun > *at;
        self.line(number).any(|entry| entry.stops.iter().any(covers))
            || self
                .sessions_stopped
                .iter()
                .any(|(session, ask)| *session == errand.session && covers(ask))
    }

    /// Whether a kill of this kind happened between two moments.
    pub fn struck(&self, from: Instant, to: Instant, blow: KillMoment) -> bool {
        self.strikes_between(from, to, blow) > 0
    }

    /// The number of daemons killed after `from` and before this time of the wall clock.
    pub fn kills_until(&self, from: Instant, clock: Timestamp) -> usize {
        let kills = self.strikes.iter().filter(|strike| strike.blow == KillMoment::Kill);
        kills.filter(|strike| from <= strike.to && strike.clock <= clock).count()
    }

    /// The number of kills of this kind between two moments.
    pub fn strikes_between(&self, from: Instant, to: Instant, blow: KillMoment) -> usize {
        let within = |strike: &&Kill| strike.blow == blow && from <= strike.to && strike.from <= to;
        self.strikes.iter().filter(within).count()
    }
}

impl Ledger {
    /// An empty ledger. Its first command gets this number.
    pub fn new(first: usize) -> Self {
        Self {
            books: Mutex::new(LedgerState { first, ..LedgerState::default() }),
            ..Self::default()
        }
    }

    /// Reads or changes the contents.
    pub fn with<T>(&self, work: impl FnOnce(&mut LedgerState) -> T) -> T {
        let done = work(&mut self.books.lock());
        self.changed.notify_all();
        done
    }

    /// Waits until the condition holds or `most` has passed. Returns whether it holds.
    pub fn wait(&self, most: Duration, until: impl Fn(&LedgerState) -> bool) -> bool {
        let mut books = self.books.lock();
        let by = Instant::now() + most;
        while !until(&books) {
            if self.changed.wait_until(&mut books, by).timed_out() {
                return until(&books);
            }
        }
        true
    }

    /// Enters a command under the next number.
    pub fn enter(&self, draw: impl FnOnce(usize) -> CommandTask) -> CommandTask {
        self.with(|books| {
            let errand = draw(books.first + books.entries.len());
            let begun = Instant::now();
            books.entries.push(Entry {
                errand: errand.clone(),
                begun,
                spawned: SpawnResult::Unknown,
                ends: Vec::new(),
                ended: None,
                stops: Vec::new(),
                messages: Vec::new(),
                eofs: Vec::new(),
                history: vec![(begun, "drawn".into())],
            });
            errand
        })
    }

    /// Changes the entry of a command.
    pub fn note(&self, number: usize, write: impl FnOnce(&mut Entry)) {
        self.with(|books| {
            if let Some(entry) = books.entry_mut(number) {
                write(entry);
            }
        });
    }

    /// Records a broken promise.
    pub fn broken(&self, errand: Option<usize>, violation: Violation) {
        self.with(|books| books.broken.push(BrokenPromise { errand, violation }));
    }

    /// A random entry that meets the condition.
    pub fn pick(&self, rng: &mut Rng, of: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let books = self.books.lock();
        let found: Vec<&Entry> = books.entries.iter().filter(|entry| of(entry)).collect();
        rng.pick(&found).map(|entry| (*entry).clone())
    }

    /// Holds a gate open.
    pub fn hold(&self, number: usize, gate: PipeGate) {
        self.gates.lock().insert(number, gate);
        self.note(number, |entry| entry.history.push((Instant::now(), "its gate opens".into())));
    }

    /// Whether a gate is held open.
    pub fn holds(&self, number: usize) -> bool {
        self.gates.lock().contains_key(&number)
    }

    /// Returns the contents and closes the gates.
    pub fn close(self) -> LedgerState {
        self.books.into_inner()
    }
}
