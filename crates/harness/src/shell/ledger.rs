//! What was asked for and what was acknowledged, in the memory of the one
//! process that is not killed.

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

/// What drivers and the killer write down.
#[derive(Debug, Default)]
pub struct Ledger {
    books: Mutex<LedgerState>,
    changed: Condvar,
    gates: Mutex<HashMap<usize, PipeGate>>,
}

/// What is written down.
#[derive(Clone, Debug, Default)]
pub struct LedgerState {
    /// Every errand, by its number less the first one's.
    pub entries: Vec<Entry>,
    /// The number of the first errand.
    pub first: usize,
    /// Every blow to a daemon.
    pub strikes: Vec<Kill>,
    /// Whole sessions that were stopped.
    pub sessions_stopped: Vec<(String, Ask)>,
    /// Calls that were begun.
    pub begun: u64,
    /// Calls that were acknowledged.
    pub acknowledged: u64,
    /// Calls that were refused, as they had to be, by what for.
    pub refused: BTreeMap<String, u64>,
    /// Calls that came to nothing because the daemon was killed under them.
    pub cut: Vec<String>,
    /// What was seen to be wrong on the way.
    pub broken: Vec<Found>,
}

/// A blow to a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// When it had not fallen yet.
    pub from: Instant,
    /// When it had.
    pub to: Instant,
    /// How.
    pub blow: KillMoment,
    /// At which moment, in a word.
    pub moment: &'static str,
    /// What the clock said.
    pub clock: Timestamp,
}

/// How a daemon is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillMoment {
    /// It cannot do anything about it.
    Kill,
    /// It is asked to end in good order.
    Term,
}

/// Something that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When the call was begun.
    pub begun: Instant,
    /// When it was acknowledged.
    pub acknowledged: Option<Instant>,
}

/// A broken promise, and whose.
#[derive(Clone, Debug)]
pub struct Found {
    /// The errand it is about.
    pub errand: Option<usize>,
    /// The promise.
    pub violation: Violation,
}

/// One errand.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The spawned command.
    pub errand: CommandTask,
    /// When.
    pub begun: Instant,
    /// What was acknowledged of it.
    pub spawned: SpawnResult,
    /// Its ends as they were told: one, if promises are kept.
    pub ends: Vec<End>,
    /// When it was first told that it had ended.
    pub ended: Option<Instant>,
    /// Requests to stop it.
    pub stops: Vec<Ask>,
    /// Lines sent to it.
    pub messages: Vec<LedgerMessage>,
    /// Requests to close its input.
    pub eofs: Vec<Ask>,
    /// What happened, for people.
    pub history: Vec<(Instant, String)>,
}

/// What was acknowledged of a spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpawnResult {
    /// Nothing.
    Unknown,
    /// The task, by its id.
    Detached {
        /// Its id.
        id: String,
        /// When.
        at: Instant,
    },
    /// Its end, by the exit code of the call that stayed with it.
    Attached {
        /// The exit code.
        code: i32,
        /// Whether all was shown that the command wrote.
        whole: Checked,
    },
}

/// How a task ended, as far as it can never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The id.
    pub id: String,
    /// The state.
    pub state: State,
    /// The outcome.
    pub outcome: Option<Outcome>,
    /// When.
    pub at: Option<String>,
    /// After how many attempts.
    pub attempts: u32,
}

/// A line that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerMessage {
    /// The line.
    pub text: String,
    /// Which driver sent it: one waits for an acknowledgement before it sends
    /// the next.
    pub by: usize,
    /// When, and whether it was acknowledged.
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
    /// A call that was made, and acknowledged if it says so.
    pub fn of(said: &CommandResult) -> Self {
        Self { begun: said.began, acknowledged: said.is_done().then_some(said.ended) }
    }
}

impl Entry {
    /// Its id, if it was told.
    pub fn id(&self) -> Option<&str> {
        match &self.spawned {
            SpawnResult::Detached { id, .. } => Some(id),
            _ => self.ends.first().map(|end| end.id.as_str()),
        }
    }

    /// Whether its end is not known.
    pub fn is_open(&self) -> bool {
        self.ends.is_empty() && self.spawned != SpawnResult::Unknown
    }

    /// Writes down how it ended, if that is news.
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
    /// Everything that was written down of an errand.
    pub fn entry(&self, number: usize) -> Option<&Entry> {
        self.entries.get(number.checked_sub(self.first)?)
    }

    /// The same, to write.
    pub fn entry_mut(&mut self, number: usize) -> Option<&mut Entry> {
        self.entries.get_mut(number.checked_sub(self.first)?)
    }

    /// The errand and those above it, lowest first.
    pub fn line(&self, number: usize) -> impl Iterator<Item = &Entry> {
        let above = |entry: &&Entry| entry.errand.parent.and_then(|above| self.entry(above));
        std::iter::successors(self.entry(number), above)
    }

    /// Whether a stop that was acknowledged covers this errand: of itself, of
    /// one above it or of its session, asked for after it was acknowledged.
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

    /// Whether a blow fell between two moments.
    pub fn struck(&self, from: Instant, to: Instant, blow: KillMoment) -> bool {
        self.strikes_between(from, to, blow) > 0
    }

    /// How many daemons were killed before the clock said this, and after that
    /// moment.
    pub fn kills_until(&self, from: Instant, clock: Timestamp) -> usize {
        let kills = self.strikes.iter().filter(|strike| strike.blow == KillMoment::Kill);
        kills.filter(|strike| from <= strike.to && strike.clock <= clock).count()
    }

    /// How many blows fell between two moments.
    pub fn strikes_between(&self, from: Instant, to: Instant, blow: KillMoment) -> usize {
        let within = |strike: &&Kill| strike.blow == blow && from <= strike.to && strike.from <= to;
        self.strikes.iter().filter(within).count()
    }
}

impl Ledger {
    /// An empty ledger; its first errand gets this number.
    pub fn new(first: usize) -> Self {
        Self {
            books: Mutex::new(LedgerState { first, ..LedgerState::default() }),
            ..Self::default()
        }
    }

    /// Reads or writes.
    pub fn with<T>(&self, work: impl FnOnce(&mut LedgerState) -> T) -> T {
        let done = work(&mut self.books.lock());
        self.changed.notify_all();
        done
    }

    /// Waits until the books say so, or a moment has passed; whether they do.
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

    /// Enters an errand, whose number is the next one.
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

    /// Writes into the entry of an errand.
    pub fn note(&self, number: usize, write: impl FnOnce(&mut Entry)) {
        self.with(|books| {
            if let Some(entry) = books.entry_mut(number) {
                write(entry);
            }
        });
    }

    /// Writes down that a promise is broken.
    pub fn broken(&self, errand: Option<usize>, violation: Violation) {
        self.with(|books| books.broken.push(Found { errand, violation }));
    }

    /// One of the errands of which this holds, by chance.
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

    /// What was written down; the gates close.
    pub fn close(self) -> LedgerState {
        self.books.into_inner()
    }
}
