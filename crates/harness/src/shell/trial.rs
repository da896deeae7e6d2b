//! One data directory, from its first daemon to its last.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hashbrown::HashMap;
use offshoot_client::DaemonDir;
use rustix::process::Signal;

use crate::rng::Rng;
use crate::shell::audit::operations::ended_by_itself;
use crate::shell::audit::{Findings, audit};
use crate::shell::binary::Binary;
use crate::shell::bystander::Bystander;
use crate::shell::driver::{Driver, Stage};
use crate::shell::killer::Killer;
use crate::shell::ledger::{BrokenPromise, End, Ledger, LedgerState};
use crate::shell::output::same;
use crate::shell::processes;
use crate::shell::report::{FailureReport, KillReport};
use crate::shell::settling::come_to_rest;
use crate::shell::snapshot::{Snapshot, list, read_log};
use crate::shell::trial_dir::TrialDir;
use crate::violation::{Violation, ensure as hold};

/// The number of concurrent drivers.
const DRIVERS: usize = 3;

/// The interval at which hanging calls are looked for.
const LOOK: Duration = Duration::from_secs(5);

/// The mark of an unknown task.
const FOREIGN: &str = "019b0000-0000-7000-8000-000000000000";

/// One data directory and its processes.
#[derive(Debug)]
pub struct Trial {
    folder: TrialDir,
    binary: Binary,
    rng: Rng,
    rounds: usize,
    errands: usize,
    stranger: Bystander,
    /// Every reported end, by its session and id.
    ends: HashMap<String, HashMap<String, End>>,
}

impl Trial {
    /// A new directory without a daemon.
    pub fn begin(program: &Path, rng: Rng) -> Result<Self> {
        let folder = TrialDir::new().context("no folder for the data")?;
        let binary = Binary::new(program, &folder)?;
        let stranger = Bystander::start(FOREIGN).context("no stranger can be started")?;
        Ok(Self { folder, binary, rng, rounds: 0, errands: 0, stranger, ends: HashMap::new() })
    }

    /// Kills this many daemons, brings everything to rest and audits it.
    pub fn round(
        &mut self,
        kills: usize,
        report: &mut KillReport,
    ) -> Result<Option<FailureReport>> {
        self.rounds += 1;
        let ledger = Ledger::new(self.errands);
        let stage = Stage {
            binary: &self.binary,
            ledger: &ledger,
            work: self.folder.work(),
            sessions: ["a", "b"].map(|of| format!("{of}{}", self.rounds)).to_vec(),
            over: AtomicBool::new(false),
        };
        let mut found = Findings::default();
        let world = play(&stage, &mut self.rng, kills).and_then(|()| {
            come_to_rest(&stage)?;
            Snapshot::look(&stage)
        })?;
        let books = ledger.with(|books| books.clone());
        found.0.extend(books.broken.iter().cloned());
        found.0.extend(audit(&books, &world));
        check_logs(&stage, &world, &mut found, report)?;
        let untouched = self.stranger.is_untouched();
        found.take(None, hold(untouched, "a stranger is left alone", || "it is gone".into()));
        self.errands += books.entries.len();
        for (_, task) in &world.tasks {
            if let Some(end) = End::of(task) {
                self.ends.entry(task.session.clone()).or_default().insert(task.id.clone(), end);
            }
        }
        report.count(&books, &world);
        Ok(self.broken(found.0, &books, &world))
    }

    /// Ends the daemon in order, looks for remaining processes, and has a last daemon report
    /// every end again.
    pub fn end(&mut self) -> Result<Option<FailureReport>> {
        let mut found = Findings::default();
        let before = sizes(&self.folder.work())?;
        self.stop(&mut found)?;
        for (session, ends) in &self.ends {
            let mut left = ends.clone();
            for task in list(&self.binary, session, "--all")? {
                let told = left.remove(&task.id);
                let now = End::of(&task);
                found.take(
                    None,
                    hold(told == now, "an end that was told never changes", || {
                        format!("{} was {told:?}\n  and is {now:?}", task.id)
                    }),
                );
            }
            found.take(
                None,
                hold(left.is_empty(), "what was acknowledged is there", || {
                    format!("{:?} of session {session} are gone", left.keys())
                }),
            );
        }
        self.stop(&mut found)?;
        let after = sizes(&self.folder.work())?;
        found.take(
            None,
            hold(before == after, "nothing goes on at rest", || "effects have grown".into()),
        );
        Ok(self.broken(found.0, &LedgerState::default(), &Snapshot::default()))
    }

    /// Stops the daemon and checks that none of its processes remains.
    fn stop(&self, found: &mut Findings) -> Result<()> {
        let place = DaemonDir::at(self.binary.data())?;
        let socket = place.daemon_address().map(|whereabouts| whereabouts.socket);
        let said = self.binary.call(&["daemon", "stop"])?;
        ensure!(said.is_done(), "the daemon cannot be stopped: {said}");
        let mut left = Vec::new();
        for pid in processes::daemons(self.binary.program())? {
            left.push(format!("process {pid}"));
        }
        left.extend(socket.filter(|socket| socket.exists()).map(|path| path.display().to_string()));
        left.extend(place.daemon_address().map(|whereabouts| format!("{whereabouts:?}")));
        for process in processes::concerning(&self.folder.work())? {
            if process.ours {
                left.push(format!("process {}: {}", process.pid, process.line));
            }
        }
        found.take(
            None,
            hold(left.is_empty(), "nothing is left of a daemon that ended", || left.join(", ")),
        );
        Ok(())
    }

    /// The violations with their explanation.
    fn broken(
        &self,
        found: Vec<BrokenPromise>,
        books: &LedgerState,
        world: &Snapshot,
    ) -> Option<FailureReport> {
        (!found.is_empty()).then(|| {
            let log = std::fs::read(self.binary.data().join("daemon.log")).unwrap_or_default();
            FailureReport::new(found, books, world, &log)
        })
    }

    /// Keeps the directory for inspection, and ends all remaining processes.
    pub fn keep(self) -> std::path::PathBuf {
        let left = processes::daemons(self.binary.program()).unwrap_or_default();
        let ours = processes::concerning(&self.folder.work()).unwrap_or_default();
        let ours = ours.into_iter().filter(|process| process.ours).map(|process| process.pid);
        for pid in left.into_iter().chain(ours) {
            processes::signal(pid, Signal::KILL);
        }
        self.folder.keep()
    }
}

/// Lets the drivers work while daemons are killed.
fn play(stage: &Stage<'_>, rng: &mut Rng, kills: usize) -> Result<()> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                thread::park_timeout(LOOK);
                stage.binary.end_hanging();
            }
        });
        let drivers: Vec<_> = (0..DRIVERS)
            .map(|number| Driver::new(stage, rng.fork(), number))
            .map(|driver| scope.spawn(move || driver.run()))
            .collect();
        let killed = Killer::new(stage, rng.fork()).run(kills);
        stage.over.store(true, Ordering::Relaxed);
        let mut ended = killed;
        for driver in drivers {
            let drove = driver.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a driver panicked")));
            ended = ended.and(drove);
        }
        done.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        ended
    })
}

/// Compares the output of every command that ran to its end with its script.
fn check_logs(
    stage: &Stage<'_>,
    world: &Snapshot,
    found: &mut Findings,
    report: &mut KillReport,
) -> Result<()> {
    for (number, task) in &world.tasks {
        let errand = number.and_then(|number| {
            stage.ledger.with(|books| books.entry(number).map(|entry| entry.errand.clone()))
        });
        let effects = number.and_then(|number| world.effects.get(&number));
        let (Some(errand), Some(effects)) = (errand, effects) else { continue };
        let Some(script) = errand.script() else { continue };
        if !task.outcome.as_ref().is_some_and(ended_by_itself) {
            continue;
        }
        let log = read_log(stage.binary, &task.id)?;
        report.log_bytes += log.output.bytes();
        found.take(*number, log.output.check(script, effects));
        // The printed output is the same.
        if errand.number % 3 == 0 {
            let said = stage.call(&["tasks", "tail", &task.id])?;
            ensure!(said.is_done(), "a log cannot be printed: {said}");
            let printed = same("what is printed", &said.out, &log.bytes);
            found.take(
                *number,
                printed.map_err(|violation| {
                    Violation::new("what is printed is what is kept", violation.detail)
                }),
            );
        }
    }
    Ok(())
}

fn sizes(folder: &Path) -> Result<HashMap<std::ffi::OsString, u64>> {
    let mut sizes = HashMap::new();
    for entry in std::fs::read_dir(folder)?.flatten() {
        sizes.insert(entry.file_name(), entry.metadata()?.len());
    }
    Ok(sizes)
}
