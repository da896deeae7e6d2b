//! The killer of the daemon, which kills at random moments.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::Timestamp;
use offshoot_client::DaemonDir;
use rustix::process::Signal;

use crate::rng::Rng;
use crate::shell::driver::{Driver, Stage};
use crate::shell::ledger::{Kill, KillMoment, LedgerState};
use crate::shell::processes;

/// The longest wait of the killer for its moment.
const MOMENT: Duration = Duration::from_secs(2);

/// The number of daemons in a thousand that are asked to end instead.
const ORDERLY: u32 = 120;

/// The interval at which the killer looks for a starting daemon.
const AGAIN: Duration = Duration::from_micros(500);

/// A call that needs a daemon.
const LOOK: [&str; 3] = ["tasks", "ls", "--json"];

/// Kills the daemons of one round.
#[derive(Debug)]
pub struct Killer<'a> {
    stage: &'a Stage<'a>,
    rng: Rng,
    /// Spawns the tasks that the killer wants to hit.
    driver: Driver<'a>,
}

/// The moment at which a daemon is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After this many acknowledged calls.
    Acknowledged(u64),
    /// After this time.
    While(Duration),
    /// During a call.
    Call(Duration),
    /// While a flood is written.
    Flood(Duration),
    /// During the recovery from the kill before.
    Recovery(Duration),
    /// Before the daemon listens.
    Start(Duration),
}

impl<'a> Killer<'a> {
    /// A killer with choices from `rng`.
    pub fn new(stage: &'a Stage<'a>, mut rng: Rng) -> Self {
        let driver = Driver::new(stage, rng.fork(), usize::MAX);
        Self { stage, rng, driver }
    }

    /// Kills this many daemons, or stops at the first broken promise.
    pub fn run(mut self, kills: usize) -> Result<()> {
        let goes_on = |books: &mut LedgerState| {
            let killed =
                books.strikes.iter().filter(|strike| strike.blow == KillMoment::Kill).count();
            killed < kills && books.broken.is_empty()
        };
        while self.stage.ledger.with(goes_on) {
            let moment = self.moment();
            self.wait_for(moment)?;
            let blow = if self.rng.happens(ORDERLY) { KillMoment::Term } else { KillMoment::Kill };
            let hit = self.strike(blow, moment)?;
            match (hit, moment) {
                (Some(pid), Moment::Recovery(pause)) => self.hit_the_next(pid, pause)?,
                (Some(pid), Moment::Start(pause)) => self.hit_a_start(pid, pause)?,
                _ => {}
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

    fn wait_for(&mut self, moment: Moment) -> Result<()> {
        let ledger = self.stage.ledger;
        let (begun, acknowledged) = ledger.with(|books| (books.begun, books.acknowledged));
        match moment {
            Moment::Acknowledged(many) => {
                ledger.wait(MOMENT, |books| books.acknowledged >= acknowledged + many);
            }
            Moment::While(pause) => thread::sleep(pause),
            Moment::Call(pause) => {
                ledger.wait(MOMENT, |books| books.begun > begun);
                thread::sleep(pause);
            }
            Moment::Flood(pause) => {
                self.driver.spawn_flood()?;
                thread::sleep(pause);
            }
            Moment::Recovery(_) | Moment::Start(_) => {
                ledger.wait(MOMENT, |books| books.acknowledged >= acknowledged + 10);
            }
        }
        Ok(())
    }

    /// The daemon that listens, or last did.
    fn last_daemon(&self) -> Result<Option<i32>> {
        let whereabouts = DaemonDir::at(self.stage.binary.data())?.daemon_address();
        Ok(whereabouts.and_then(|whereabouts| i32::try_from(whereabouts.pid).ok()))
    }

    /// Kills the daemon that listens. Returns its process id, if there is one.
    fn strike(&self, blow: KillMoment, moment: Moment) -> Result<Option<i32>> {
        Ok(self.last_daemon()?.filter(|pid| self.hit(*pid, blow, moment)))
    }

    /// Kills a process if it is a daemon of the binary under test.
    fn hit(&self, pid: i32, blow: KillMoment, moment: Moment) -> bool {
        if !processes::runs(pid, self.stage.binary.program()) {
            return false;
        }
        let signal = match blow {
            KillMoment::Kill => Signal::KILL,
            KillMoment::Term => Signal::TERM,
        };
        let (from, clock) = (Instant::now(), Timestamp::now());
        let hit = processes::signal(pid, signal);
        if hit {
            let strike = Kill { from, to: Instant::now(), blow, moment: moment.word(), clock };
            self.stage.ledger.with(|books| books.strikes.push(strike));
        }
        hit
    }

    /// Kills the next daemon that listens, during its recovery.
    fn hit_the_next(&self, last: i32, pause: Duration) -> Result<()> {
        thread::scope(|scope| {
            let call = scope.spawn(|| self.stage.call(&LOOK));
            loop {
                match self.last_daemon()?.filter(|pid| *pid != last) {
                    Some(next) => {
                        thread::sleep(pause);
                        self.hit(next, KillMoment::Kill, Moment::Recovery(pause));
                        return Ok(());
                    }
                    None if call.is_finished() => return Ok(()),
                    None => thread::sleep(AGAIN),
                }
            }
        })
    }

    /// Kills a daemon that starts after this one, before it listens. That daemon may be one
    /// that loses the race for the directory.
    fn hit_a_start(&self, last: i32, pause: Duration) -> Result<()> {
        let program = self.stage.binary.program();
        thread::scope(|scope| {
            let call = scope.spawn(|| self.stage.call(&LOOK));
            loop {
                let started = processes::daemons(program)?;
                match started.into_iter().find(|pid| *pid != last) {
                    Some(next) => {
                        thread::sleep(pause);
                        self.hit(next, KillMoment::Kill, Moment::Start(pause));
                        return Ok(());
                    }
                    None if call.is_finished() => return Ok(()),
                    None => thread::sleep(AGAIN),
                }
            }
        })
    }
}

impl Moment {
    fn word(self) -> &'static str {
        match self {
            Self::Acknowledged(_) => "after calls",
            Self::While(_) => "at any time",
            Self::Call(_) => "in a call",
            Self::Flood(_) => "in a flood",
            Self::Recovery(_) => "in recovery",
            Self::Start(_) => "at a start",
        }
    }
}
