//! Whoever kills the daemon, whenever it likes.

use std::time::{Duration, Instant};

use anyhow::Result;
use offshoot_client::Place;
use rustix::process::Signal;

use crate::rng::Rng;
use crate::shell::driver::{Driver, Stage};
use crate::shell::ledger::{Blow, Strike};
use crate::shell::processes;

/// How long the killer waits for its moment at the most.
const MOMENT: Duration = Duration::from_secs(2);

/// How often the killer looks for a daemon that is being started.
const LOOK: Duration = Duration::from_micros(500);

/// Kills the daemons of one round.
#[derive(Debug)]
pub struct Killer<'a> {
    stage: &'a Stage<'a>,
    rng: Rng,
    /// Sends off what it wants to hit.
    driver: Driver<'a>,
}

/// The moment at which a daemon is hit.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After so many calls were acknowledged.
    Acknowledged(u64),
    /// After a while.
    While(Duration),
    /// In the midst of a call.
    Call(Duration),
    /// While a flood is written.
    Flood(Duration),
    /// While it recovers from the blow before.
    Recovery(Duration),
    /// Before it listens.
    Start(Duration),
}

impl<'a> Killer<'a> {
    /// A killer whose choices are decided by `rng`.
    pub fn new(stage: &'a Stage<'a>, mut rng: Rng) -> Self {
        let driver = Driver::new(stage, rng.fork(), usize::MAX);
        Self { stage, rng, driver }
    }

    /// Kills so many, or stops as soon as a promise is seen to be broken.
    pub fn run(mut self, kills: u64) -> Result<()> {
        let mut killed = 0;
        while killed < kills && self.stage.ledger.with(|books| books.broken.is_empty()) {
            let moment = self.moment();
            if self.stage_for(moment)? {
                continue;
            }
            let blow = if self.rng.happens(70) { Blow::Term } else { Blow::Kill };
            let hit = match moment {
                Moment::Recovery(_) => self.strike(Blow::Kill)? && self.hit_the_next(moment)?,
                Moment::Start(_) => self.strike(Blow::Kill)? && self.hit_the_next(moment)?,
                _ => self.strike(blow)?,
            };
            let kills = self.stage.ledger.with(|books| {
                books.strikes.iter().filter(|strike| strike.blow == Blow::Kill).count()
            });
            if hit && blow == Blow::Kill || kills as u64 > killed {
                killed = kills as u64;
            }
        }
        Ok(())
    }

    fn moment(&mut self) -> Moment {
        let rng = &mut self.rng;
        let mut millis = |most: usize| Duration::from_micros(rng.below(most * 1_000) as u64);
        let (short, medium, long) = (millis(6), millis(120), millis(700));
        match self.rng.below(100) {
            0..=34 => Moment::Acknowledged(self.rng.between(1, 60) as u64),
            35..=54 => Moment::While(long),
            55..=69 => Moment::Call(short),
            70..=79 => Moment::Flood(medium),
            80..=91 => Moment::Recovery(medium),
            _ => Moment::Start(short * 3),
        }
    }

    /// Waits for the moment; whether it has passed by.
    fn stage_for(&mut self, moment: Moment) -> Result<bool> {
        let ledger = self.stage.ledger;
        let (begun, acknowledged) = ledger.with(|books| (books.begun, books.acknowledged));
        match moment {
            Moment::Acknowledged(many) => {
                ledger.wait(MOMENT, |books| books.acknowledged >= acknowledged + many);
            }
            Moment::While(pause) => std::thread::sleep(pause),
            Moment::Call(pause) => {
                ledger.wait(MOMENT, |books| books.begun > begun);
                std::thread::sleep(pause);
            }
            Moment::Flood(pause) => {
                self.driver.spawn_flood()?;
                std::thread::sleep(pause);
            }
            Moment::Recovery(_) | Moment::Start(_) => {
                ledger.wait(MOMENT, |books| books.acknowledged >= acknowledged + 10);
            }
        }
        Ok(false)
    }

    /// Hits the daemon that runs; whether one did.
    fn strike(&self, blow: Blow) -> Result<bool> {
        let place = Place::at(self.stage.binary.data())?;
        let pid = place.whereabouts().and_then(|whereabouts| i32::try_from(whereabouts.pid).ok());
        Ok(pid.is_some_and(|pid| self.hit(pid, blow)))
    }

    /// Hits a process if it is a daemon of the binary under test.
    fn hit(&self, pid: i32, blow: Blow) -> bool {
        if !processes::runs(pid, self.stage.binary.program()) || !processes::is_there(pid) {
            return false;
        }
        let signal = match blow {
            Blow::Kill => Signal::KILL,
            Blow::Term => Signal::TERM,
        };
        let from = Instant::now();
        let hit = processes::signal(pid, signal);
        if hit {
            let strike = Strike { from, to: Instant::now(), blow };
            self.stage.ledger.with(|books| books.strikes.push(strike));
        }
        hit
    }

    /// Has the next daemon started, and hits it while it starts or recovers.
    fn hit_the_next(&self, moment: Moment) -> Result<bool> {
        let program = self.stage.binary.program();
        let before = processes::daemons(program)?;
        std::thread::scope(|scope| {
            let call = scope.spawn(|| self.stage.call(&["tasks", "ls", "--json"]));
            let next = loop {
                let now = processes::daemons(program)?;
                let new = now.into_iter().find(|pid| !before.contains(pid));
                if new.is_some() || call.is_finished() {
                    break new;
                }
                std::thread::sleep(LOOK);
            };
            let (Moment::Recovery(pause) | Moment::Start(pause)) = moment else {
                return Ok(false);
            };
            if let Moment::Recovery(_) = moment {
                let listens = |pid: i32| {
                    let place = Place::at(self.stage.binary.data()).ok()?;
                    let whereabouts = place.whereabouts()?;
                    (i32::try_from(whereabouts.pid) == Ok(pid)).then_some(())
                };
                while next.is_some_and(|pid| processes::is_there(pid) && listens(pid).is_none()) {
                    std::thread::sleep(LOOK);
                }
            }
            std::thread::sleep(pause);
            Ok(next.is_some_and(|pid| self.hit(pid, Blow::Kill)))
        })
    }
}
