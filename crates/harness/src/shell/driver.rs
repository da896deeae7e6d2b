//! A driver: spawns commands, steers them and inspects them through the binary, in random
//! order.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use offshoot_client::wire::Code;
use serde::de::DeserializeOwned;

use crate::rng::Rng;
use crate::shell::binary::{Binary, CommandResult};
use crate::shell::gate::PipeGate;
use crate::shell::ledger::{Entry, KillMoment, Ledger};
use crate::violation::Violation;

mod looking;
mod sending;
mod steering;

/// The number of open commands from which drivers let some end first.
const CROWD: usize = 40;

/// The number of daemons that must die during one call before it may fail. A call tries five
/// times, and one kill can cost two tries: a kept connection, and one that is opened while the
/// daemon ends.
const BLOWS: usize = 3;

/// The state that the drivers of a round share.
#[derive(Debug)]
pub struct Stage<'a> {
    /// The binary.
    pub binary: &'a Binary,
    /// The ledger of the round.
    pub ledger: &'a Ledger,
    /// The directory in which commands record their effects.
    pub work: PathBuf,
    /// The sessions of the round.
    pub sessions: Vec<String>,
    /// Whether the drivers must stop.
    pub over: AtomicBool,
}

/// One driver.
#[derive(Debug)]
pub struct Driver<'a> {
    stage: &'a Stage<'a>,
    rng: Rng,
    number: usize,
    sent: usize,
}

/// The result of a call, after its check.
#[derive(Debug)]
enum CallOutcome {
    /// The call was acknowledged.
    Done,
    /// The call was refused for a permitted reason.
    Refused,
    /// The daemon was killed during the call, or the call broke a promise, which the ledger
    /// records.
    Nothing,
}

impl Stage<'_> {
    /// Calls the binary and counts the call.
    pub fn call<A: AsRef<str>>(&self, args: &[A]) -> Result<CommandResult> {
        self.ledger.with(|books| books.begun += 1);
        self.binary.call(args)
    }

    /// Whether the drivers go on.
    pub fn goes_on(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// Opens the gate of a command.
    pub fn open_gate(&self, entry: &Entry) -> Result<()> {
        let number = entry.errand.number;
        if entry.errand.waits() && !self.ledger.holds(number) {
            let gate = PipeGate::open(&entry.errand.gate(&self.work))?;
            self.ledger.hold(number, gate);
        }
        Ok(())
    }

    /// The output of a call, decoded as this type; a violation if it is not of this type.
    pub fn read<T: DeserializeOwned>(
        &self,
        said: &CommandResult,
        errand: Option<usize>,
    ) -> Option<T> {
        match said.json() {
            Ok(read) => Some(read),
            Err(violation) => {
                self.ledger.broken(errand, violation);
                None
            }
        }
    }
}

impl<'a> Driver<'a> {
    /// A driver of this stage with choices from `rng`.
    pub fn new(stage: &'a Stage<'a>, rng: Rng, number: usize) -> Self {
        Self { stage, rng, number, sent: 0 }
    }

    /// Works until the stage is over.
    pub fn run(mut self) -> Result<()> {
        while self.stage.goes_on() {
            self.act()?;
        }
        Ok(())
    }

    fn act(&mut self) -> Result<()> {
        let open = self
            .stage
            .ledger
            .with(|books| books.entries.iter().filter(|entry| entry.is_open()).count());
        if open > CROWD {
            return self.let_one_end();
        }
        match self.rng.below(100) {
            0..=29 => self.spawn_detached(),
            30..=33 => self.spawn_attached(),
            34..=45 => self.send(),
            46..=48 => self.close_input(),
            49..=58 => self.let_one_end(),
            59..=65 => self.cancel(),
            66 => self.cancel_session(),
            67..=76 => self.wait(),
            77..=84 => self.show(),
            85..=90 => self.tail(),
            91..=95 => self.list(),
            _ => self.look_around(),
        }
    }

    /// Checks the form of a result, and whether a refusal is permitted.
    fn check_call(
        &self,
        said: &CommandResult,
        errand: Option<usize>,
        may_refuse: &[Code],
    ) -> CallOutcome {
        if let Err(violation) = said.check(None) {
            self.stage.ledger.broken(errand, violation);
            return CallOutcome::Nothing;
        }
        if said.is_done() {
            self.stage.ledger.with(|books| books.acknowledged += 1);
            return CallOutcome::Done;
        }
        if let Some(code) = said.fault().filter(|code| may_refuse.contains(code)) {
            self.refused(said, &format!("{code:?}"));
            return CallOutcome::Refused;
        }
        self.excuse(said, errand);
        CallOutcome::Nothing
    }

    fn refused(&self, said: &CommandResult, why: &str) {
        let verb = said.line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let key = format!("{verb}: {why}");
        self.stage.ledger.with(|books| *books.refused.entry(key).or_default() += 1);
    }

    /// Records a failed call. A call may fail only if enough daemons were killed during it.
    fn excuse(&self, said: &CommandResult, errand: Option<usize>) {
        let blows = self.stage.ledger.with(|books| {
            let blows = [KillMoment::Kill, KillMoment::Term]
                .map(|blow| books.strikes_between(said.began, said.ended, blow));
            let blows = blows.into_iter().sum::<usize>();
            if blows >= BLOWS {
                books.cut.push(said.brief());
            }
            blows
        });
        if blows < BLOWS {
            let promise = "a call works whether the daemon lives or not";
            let detail = format!("{said}\n  {blows} daemons were hit meanwhile");
            self.stage.ledger.broken(errand, Violation::new(promise, detail));
        }
    }

    /// A random open command; rarely an ended one.
    fn some_errand(&mut self) -> Option<Entry> {
        let ended = self.rng.happens(150);
        let wanted = |entry: &Entry| entry.id().is_some() && (ended || entry.is_open());
        self.stage.ledger.pick(&mut self.rng, wanted)
    }

    fn history(&self, number: usize, what: impl Into<String>) {
        let what = format!("driver {}: {}", self.number, what.into());
        self.stage.ledger.note(number, |entry| entry.history.push((Instant::now(), what)));
    }
}

fn span(duration: Duration) -> String {
    format!("{}ms", duration.as_millis())
}
