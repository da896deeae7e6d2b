//! One process: an executor, and one or two workers on the disk.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Owner, Stamp};
use offshoot_runtime::{Environment, Error, Session};
use parking_lot::Mutex;

use crate::executor::{Executor, Sim, Stepped};
use crate::model::SharedModel;
use crate::model::invariants::{quiescence, removal};
use crate::rng::Rng;
use crate::running_bodies::BodyActivity;
use crate::scenario::FaultRates;
use crate::scenario::{Scenario, SecondWorker};
use crate::violation::{Checked, Violation};
use crate::worker::SimulatedWorker;

/// The simulated time after which rest is final. Every timer of the workload and of the runtime
/// is far shorter.
const HORIZON: Duration = Duration::from_secs(15 * 60);

/// The number of cancels of everything after which a live task is a failure.
const ROUNDS: usize = 8;

/// The number of steps after which a run counts as endless.
const MOST_STEPS: u64 = 2_000_000;

/// One process: an executor, and one or two workers on the disk.
pub struct SimulatedProcess {
    executor: Executor,
    sim: Sim,
    model: SharedModel,
    workers: Vec<SimulatedWorker>,
}

/// The reason that a process stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The awaited condition holds.
    Done,
    /// No task can go on, or no more events are expected.
    Rest,
    /// The process died.
    Crashed,
}

impl SimulatedProcess {
    /// A process whose workers are not open yet.
    pub fn new(executor: Executor, model: SharedModel, workers: Vec<SimulatedWorker>) -> Self {
        let sim = executor.sim();
        model.lock().trace.note(|| "a process starts".to_owned());
        Self { executor, sim, model, workers }
    }

    /// Opens the first workers.
    pub fn open(&mut self, company: SecondWorker) -> Result<ProcessEnd, Violation> {
        let first = match company {
            SecondWorker::None | SecondWorker::After(_) => 1,
            SecondWorker::AtOnce => 2,
        };
        for worker in self.workers.iter().take(first) {
            self.sim.go(worker.clone().open());
        }
        match self.run(|workers| workers.iter().take(first).all(SimulatedWorker::is_open))? {
            ProcessEnd::Rest => {
                Err(Violation::new("S9.2 a runtime opens on what another left", "it does not"))
            }
            stopped => Ok(stopped),
        }
    }

    /// Starts the actors.
    pub fn work(&mut self, company: SecondWorker) -> Result<ProcessEnd, Violation> {
        for worker in self.workers.iter().filter(|worker| worker.is_open()) {
            worker.populate();
        }
        if let (SecondWorker::After(span), Some(late)) = (company, self.workers.get(1)) {
            let (late, sim) = (late.clone(), self.sim.clone());
            self.sim.go(async move {
                sim.sleep(span).await;
                late.clone().open().await;
                if late.is_open() {
                    late.populate();
                }
            });
        }
        if company != SecondWorker::None && self.sim.draw(|rng| rng.happens(300)) {
            self.let_one_go();
        }
        self.run(|workers| workers.iter().all(SimulatedWorker::is_done))
    }

    /// Drops one worker while the other goes on.
    fn let_one_go(&self) {
        let which = self.sim.draw(|rng| rng.below(self.workers.len()));
        let span = self.sim.draw(|rng| Duration::from_millis(rng.below(3_000) as u64));
        let Some(worker) = self.workers.get(which).cloned() else { return };
        let (sim, model) = (self.sim.clone(), self.model.clone());
        self.sim.go(async move {
            sim.sleep(span).await;
            model.lock().trace.note(|| format!("worker {which} is dropped"));
            worker.dismiss();
        });
    }

    /// Runs until `done`, until rest, or until the process dies.
    fn run(&mut self, done: impl Fn(&[SimulatedWorker]) -> bool) -> Result<ProcessEnd, Violation> {
        let horizon = self.sim.monotonic() + HORIZON;
        let mut checks = 0u32;
        loop {
            let stepped = self.executor.step();
            if let Some(violation) = self.model.lock().violation.clone() {
                return Err(violation);
            }
            let over = match stepped {
                Stepped::Idle => true,
                Stepped::Advanced => self.sim.monotonic() > horizon,
                Stepped::Polled => false,
                Stepped::Panicked => {
                    return Err(Violation::new(
                        "the runtime never panics",
                        crate::panics::last().unwrap_or_default(),
                    ));
                }
            };
            if self.workers.iter().any(|worker| worker.disk.has_crashed()) {
                return Ok(ProcessEnd::Crashed);
            }
            checks += 1;
            if (over || checks.is_multiple_of(16)) && done(&self.workers) {
                return Ok(ProcessEnd::Done);
            }
            if over {
                return Ok(ProcessEnd::Rest);
            }
            if self.sim.steps() > MOST_STEPS {
                return Err(Violation::new("nothing runs in a circle", "it takes too many steps"));
            }
        }
    }

    /// Keeps the process from dying by itself.
    pub fn keep_alive(&self) {
        for worker in &self.workers {
            worker.disk.set_odds(FaultRates { crash: 0, ..worker.disk.odds() });
        }
    }

    fn set_odds(&self, odds: FaultRates) {
        self.workers.iter().for_each(|worker| worker.disk.set_odds(odds));
    }

    /// Ends a live process: drops its runtimes, shuts them down, or lets it die now.
    pub fn close(&mut self, rng: &mut Rng) -> Result<ProcessEnd, Violation> {
        match rng.below(3) {
            0 => return Ok(ProcessEnd::Crashed),
            1 => {
                self.model.lock().trace.note(|| "the process drops all it has".to_owned());
                self.set_odds(FaultRates::calm(1));
                self.workers.iter().for_each(SimulatedWorker::dismiss);
            }
            _ => {
                if self.shut_down(rng)? == ProcessEnd::Crashed {
                    return Ok(ProcessEnd::Crashed);
                }
            }
        }
        // Pending operations of the store end before the store is released; all else is
        // dropped.
        let stopped = self.run(|_| false)?;
        let model = self.model.lock();
        if stopped != ProcessEnd::Crashed
            && let Some(body) = model.bodies.running().next()
        {
            return Err(Violation::new(
                "S6.8 dropping the runtime aborts every body",
                format!("{body:?} runs on"),
            ));
        }
        Ok(stopped)
    }

    fn shut_down(&mut self, rng: &mut Rng) -> Result<ProcessEnd, Violation> {
        {
            let mut model = self.model.lock();
            model.trace.note(|| "the process shuts down".to_owned());
            model.closing = true;
        }
        let left = Arc::new(Mutex::new(0));
        for runtime in self.workers.iter().filter_map(SimulatedWorker::take) {
            let patience = Duration::from_millis(rng.below(8_000) as u64);
            let left = left.clone();
            *left.lock() += 1;
            self.sim.go(async move {
                // The model counts the bodies that did not stop.
                drop(runtime.shutdown(patience).await);
                *left.lock() -= 1;
            });
        }
        match self.run(|_| *left.lock() == 0)? {
            ProcessEnd::Rest => {
                let detail = "it does not come to an end".to_owned();
                Err(Violation::new("S6.8 a shutdown has a deadline", detail))
            }
            stopped => Ok(stopped),
        }
    }

    /// Runs the last process: every task comes to rest, then everything is cancelled, then the
    /// slots are counted.
    pub fn finish(&mut self, plan: &Scenario) -> Result<ProcessEnd, Violation> {
        self.set_odds(FaultRates::calm(plan.odds.pause));
        if self.run(|_| false)? == ProcessEnd::Crashed {
            return Ok(ProcessEnd::Crashed);
        }
        self.check_rest()?;
        // Actors that wake may spawn more.
        for _ in 0..ROUNDS {
            self.cancel_all()?;
            if self.model.lock().shadow.live().next().is_none() {
                break;
            }
        }
        for worker in &self.workers {
            quiescence::check_ended(&self.model.lock(), &worker.world.actors.lock())?;
        }
        self.probe_slots(plan)?;
        Ok(ProcessEnd::Done)
    }

    fn check_rest(&self) -> Checked {
        let model = self.model.lock();
        for worker in &self.workers {
            let actors = worker.world.actors.lock();
            quiescence::check_progress(&model, &actors)?;
            removal::check_no_listener(&model.shadow, &worker.world.listening.lock())?;
            // The first actors are the readers of the sessions that have one.
            if let [session] = worker.world.sessions.lock().as_slice()
                && actors.first() == Some(&Some(BodyActivity::Receiving))
            {
                quiescence::check_read(&model, Owner::Session(session.id()), actors[0].as_ref())?;
            }
        }
        Ok(())
    }

    /// The sessions of the only worker.
    fn sessions(&self) -> Vec<Session> {
        let worker = self.workers.first();
        worker.map(|worker| worker.world.sessions.lock().clone()).unwrap_or_default()
    }

    fn cancel_all(&mut self) -> Checked {
        let sessions = self.sessions();
        let failed = Arc::new(Mutex::new(None));
        for session in sessions {
            let failed = failed.clone();
            self.sim.go(async move {
                match session.cancel("the end").await {
                    // A removed session has no live tasks.
                    Ok(_) | Err(Error::NoSession { .. }) => {}
                    Err(error) => *failed.lock() = Some(error),
                }
            });
        }
        self.run(|_| false)?;
        match failed.lock().take() {
            Some(error) => Err(Violation::new(
                "S6.4 a cancel can never be lost",
                format!("nothing is wrong with the store, but: {error}"),
            )),
            None => Ok(()),
        }
    }

    /// Fills every slot once more: a leaked slot would be missing.
    fn probe_slots(&mut self, plan: &Scenario) -> Checked {
        if plan.caps.executing.is_none() {
            return Ok(());
        }
        let sessions = self.sessions();
        let wanted = 4 * sessions.len();
        let ended = Arc::new(Mutex::new(0));
        for session in sessions.iter().cycle().take(wanted) {
            let (session, ended, sim) = (session.clone(), ended.clone(), self.sim.clone());
            self.sim.go(async move {
                let world = sim.clone();
                let spawned = session.spawn_ephemeral(move |_| async move {
                    world.pause(2).await;
                    Ok::<(), offshoot_runtime::BodyError>(())
                });
                let refused = match spawned.await {
                    // A task whose end was read may be forgotten before it is inspected.
                    Ok(task) => task
                        .wait()
                        .await
                        .is_err_and(|error| !matches!(error, Error::NotFound { .. })),
                    // A cap on live tasks or the removal of a session may refuse the spawn,
                    // which is no leak.
                    Err(error) => !matches!(error, Error::Cap(_) | Error::NoSession { .. }),
                };
                if !refused {
                    *ended.lock() += 1;
                }
            });
        }
        let left = ended.clone();
        self.model.lock().probing = true;
        self.run(move |_| *left.lock() == wanted)?;
        let ended = *ended.lock();
        if ended == wanted {
            return Ok(());
        }
        Err(Violation::new(
            "S8.3 no slot is leaked",
            format!("of {wanted} tasks spawned at rest only {ended} ended"),
        ))
    }

    /// Takes the process apart. Returns the start time of the next one.
    pub fn end(self, rng: &mut Rng, stopped: ProcessEnd) -> Stamp {
        let Self { executor, sim, model, workers } = self;
        {
            let mut model = model.lock();
            model.figures.steps += sim.steps();
            match stopped {
                ProcessEnd::Crashed => model.figures.crashes += 1,
                _ => model.figures.reopened += 1,
            }
            model.trace.note(|| format!("the process ends: {stopped:?}"));
        }
        let wall = sim.wall();
        drop(executor);
        workers.iter().for_each(SimulatedWorker::dismiss);
        let mut model = model.lock();
        model.bodies.clear();
        model.closing = false;
        // The wall clock may have been set meanwhile.
        let gap = Duration::from_millis(rng.below(5_000) as u64);
        if rng.happens(100) { wall.before(gap) } else { wall.after(gap) }
    }
}
