//! One seed: a life of several processes on one disk.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Caps, Ceiling, Owner, Retention, Stamp};
use offshoot_runtime::{Environment, Error, Restarts, Runtime};
use offshoot_store::{Memory, Store};
use parking_lot::Mutex;

use crate::actors::{delivering, following, host, looking};
use crate::bodies::Doing;
use crate::disk::{Disk, Odds};
use crate::executor::{Executor, Sim, Stepped};
use crate::figures::Figures;
use crate::invariants::rest;
use crate::model::{Model, SharedModel};
use crate::planted::{Bug, Planted};
use crate::rng::Rng;
use crate::script::Author;
use crate::trace::Trace;
use crate::violation::{Checked, Violation};
use crate::world::{MAX_ATTEMPTS, World};

/// How much simulated time passes before rest is taken to be final. Every
/// timer of the workload and of the runtime is far shorter.
const HORIZON: Duration = Duration::from_secs(15 * 60);

/// How often everything is cancelled before what still lives is a failure.
const ROUNDS: usize = 8;

/// A seed whose steps pass this is taken to run in a circle.
const MOST_STEPS: u64 = 2_000_000;

/// What a seed came to.
#[derive(Debug)]
pub struct Outcome {
    /// What it did.
    pub figures: Figures,
    /// What went wrong, and how it came to that.
    pub failure: Option<Failure>,
}

/// What went wrong.
#[derive(Debug)]
pub struct Failure {
    /// The promise that was not kept.
    pub violation: Violation,
    /// The last things that happened, if they were traced.
    pub trace: Vec<String>,
}

/// Lives one seed. The same seed and bug give the same life.
pub fn simulate(seed: u64, bug: Option<Bug>, trace: Trace) -> Outcome {
    let mut rng = Rng::new(seed);
    let plan = Life::draw(&mut rng, bug);
    let model = Arc::new(Mutex::new(Model::new(plan.caps.clone(), trace)));
    let mut life = Simulation { plan, memory: Memory::new(), model: model.clone(), rng };
    let lived = life.live();
    let mut model = model.lock();
    let violation = model.violation.take().or(lived.err());
    let trace = if violation.is_some() { model.trace.tail() } else { Vec::new() };
    Outcome {
        figures: model.figures,
        failure: violation.map(|violation| Failure { violation, trace }),
    }
}

/// What a seed decides before it begins.
#[derive(Debug)]
struct Life {
    bug: Option<Bug>,
    caps: Caps,
    odds: Odds,
    processes: usize,
    sessions: usize,
    hosts: usize,
    deeds: usize,
    grace: Duration,
}

impl Life {
    fn draw(rng: &mut Rng, bug: Option<Bug>) -> Self {
        let mut caps = Caps { depth: 4, ..Caps::default() };
        let small = |rng: &mut Rng| rng.happens(400).then(|| rng.between(1, 3) as u64);
        if rng.happens(500) {
            caps.executing = Ceiling { owner: small(rng), session: small(rng), space: small(rng) };
        }
        if rng.happens(200) {
            let live = rng.between(2, 8) as u64;
            caps.live = Ceiling { owner: Some(live), session: None, space: Some(live * 3) };
        }
        let stormy = rng.below(3) as u32;
        let pause = rng.below(4);
        let odds = Odds {
            before: 8 * stormy,
            after: 8 * stormy,
            lost: 4 * stormy,
            crash: if rng.happens(500) { 10 } else { 0 },
            unread: 4 * stormy,
            prompt: *rng.pick(&[0, 300, 900]).unwrap_or(&0),
            pause,
        };
        Self {
            bug,
            caps,
            odds,
            processes: rng.between(1, 4),
            sessions: rng.between(1, 2),
            hosts: rng.between(1, 4),
            deeds: rng.between(3, 12),
            grace: Duration::from_millis(rng.below(3_000) as u64),
        }
    }
}

struct Simulation {
    plan: Life,
    memory: Memory,
    model: SharedModel,
    rng: Rng,
}

/// One process: an executor, a store and a runtime on the disk.
struct Process {
    executor: Executor,
    sim: Sim,
    disk: Disk,
    world: Arc<World>,
    model: SharedModel,
    runtime: Arc<Mutex<Option<Runtime>>>,
}

/// Why a process stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    /// What was waited for has come.
    Done,
    /// Nobody can go on, or nothing is to be expected any more.
    Rest,
    /// It died.
    Crashed,
}

impl Simulation {
    fn live(&mut self) -> Checked {
        let mut author = Some(Author::new(self.rng.fork()));
        let mut epoch = Stamp::from_millis(1_700_000_000_000);
        for number in 1..=self.plan.processes {
            let last = number == self.plan.processes;
            let taken = author.take().unwrap_or_else(|| Author::new(self.rng.fork()));
            let mut process = self.process(taken, epoch);
            let mut stopped = process.open(&self.plan)?;
            if stopped == Stopped::Done {
                process.populate(&self.plan);
                stopped = process.run(|world| world.actors.lock().iter().all(Option::is_none))?;
            }
            if stopped != Stopped::Crashed {
                stopped = if last {
                    process.finish(&self.plan)?
                } else {
                    process.close(&mut self.rng)?
                };
            }
            epoch = process.end(&mut self.rng, stopped);
            author = Some(Author::resume(self.rng.fork(), number as u64));
        }
        // A life that ends in a crash is followed by one process more, which
        // finishes in peace.
        if self.model.lock().shadow.live().next().is_some() {
            self.plan.odds.crash = 0;
            let author = Author::resume(self.rng.fork(), 99);
            let mut process = self.process(author, epoch);
            if process.open(&self.plan)? == Stopped::Done {
                process.finish(&self.plan)?;
            }
            process.end(&mut self.rng, Stopped::Done);
        }
        rest::check_disk(&self.model.lock(), &self.memory)
    }

    fn process(&mut self, author: Author, epoch: Stamp) -> Process {
        let executor = Executor::new(self.rng.fork(), epoch);
        let sim = executor.sim();
        let disk = Disk::new(self.memory.clone(), sim.clone(), self.model.clone(), self.plan.odds);
        let world = World::new(sim.clone(), self.model.clone(), author);
        let model = self.model.clone();
        model.lock().trace.note(|| "a process starts".to_owned());
        Process { executor, sim, disk, world, model, runtime: Arc::default() }
    }
}

impl Process {
    /// Opens the runtime and its sessions.
    fn open(&mut self, plan: &Life) -> Result<Stopped, Violation> {
        let disk: Arc<dyn Store> = Arc::new(self.disk.clone());
        let store: Arc<dyn Store> = match plan.bug {
            Some(bug) => {
                let sim = self.sim.clone();
                Arc::new(Planted::new(disk, bug, Arc::new(move |future| sim.spawn(future))))
            }
            None => disk,
        };
        let retention = Retention { in_memory: 1 << 20, events: 1 << 20, ..Retention::default() };
        let restarts = Restarts { max_attempts: MAX_ATTEMPTS, ..Restarts::default() };
        let builder = Runtime::builder(store)
            .environment(Arc::new(self.sim.clone()))
            .caps(plan.caps.clone())
            .grace(plan.grace)
            .restarts(restarts)
            .retention(retention);
        let builder = self.world.register(builder);
        let (world, slot, sessions) = (self.world.clone(), self.runtime.clone(), plan.sessions);
        self.sim.go(async move {
            let Ok(runtime) = builder.open().await else { return };
            for number in 0..sessions {
                loop {
                    match runtime.session(&format!("session-{number}")).await {
                        Ok(session) => break world.sessions.lock().push(session),
                        Err(Error::Store(_)) => {}
                        Err(_) => return,
                    }
                }
            }
            *slot.lock() = Some(runtime);
        });
        let slot = self.runtime.clone();
        match self.run(|_| slot.lock().is_some())? {
            Stopped::Rest => {
                Err(Violation::new("S9.2 a runtime opens on what another left", "it does not"))
            }
            stopped => Ok(stopped),
        }
    }

    /// Starts the actors.
    fn populate(&mut self, plan: &Life) {
        let world = &self.world;
        let sessions = world.sessions.lock().clone();
        for session in &sessions {
            self.sim.go(looking::recall(world.clone(), session.clone()));
            self.sim.go(following::follow(world.clone(), session.clone()));
            if self.sim.draw(|rng| rng.happens(500)) {
                let actor = self.actor(Doing::Receiving);
                self.sim.go(delivering::deliver(world.clone(), session.clone(), actor));
            }
        }
        for _ in 0..plan.hosts {
            let which = self.sim.draw(|rng| rng.below(sessions.len()));
            let Some(session) = sessions.get(which).cloned() else { continue };
            let actor = self.actor(Doing::Working);
            let deeds = self.sim.draw(|rng| rng.between(1, plan.deeds));
            self.sim.go(host::run(world.clone(), session, actor, deeds));
        }
    }

    fn actor(&self, doing: Doing) -> usize {
        let mut actors = self.world.actors.lock();
        actors.push(Some(doing));
        actors.len() - 1
    }

    /// Goes on until `done`, until rest, or until the process dies.
    fn run(&mut self, done: impl Fn(&World) -> bool) -> Result<Stopped, Violation> {
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
            if self.disk.has_crashed() {
                return Ok(Stopped::Crashed);
            }
            checks += 1;
            if (over || checks.is_multiple_of(16)) && done(&self.world) {
                return Ok(Stopped::Done);
            }
            if over {
                return Ok(Stopped::Rest);
            }
            if self.sim.steps() > MOST_STEPS {
                return Err(Violation::new("nothing runs in a circle", "it takes too many steps"));
            }
        }
    }

    /// Ends a process that has not died: by dropping its runtime, by shutting
    /// it down, or by letting it die now.
    fn close(&mut self, rng: &mut Rng) -> Result<Stopped, Violation> {
        match rng.below(3) {
            0 => return Ok(Stopped::Crashed),
            1 => {
                self.model.lock().trace.note(|| "the runtime is dropped".to_owned());
                self.disk.set_odds(Odds::calm(1));
                self.world.forget();
                drop(self.runtime.lock().take());
            }
            _ => {
                {
                    let mut model = self.model.lock();
                    model.trace.note(|| "the runtime shuts down".to_owned());
                    model.closing = true;
                }
                let runtime = self.runtime.lock().take();
                let patience = Duration::from_millis(rng.below(8_000) as u64);
                let done = Arc::new(Mutex::new(None));
                let told = done.clone();
                self.sim.go(async move {
                    if let Some(runtime) = runtime {
                        *told.lock() = Some(runtime.shutdown(patience).await.is_ok());
                    }
                });
                match self.run(|_| done.lock().is_some())? {
                    Stopped::Rest => {
                        let detail = "it does not come to an end".to_owned();
                        return Err(Violation::new("S6.8 a shutdown has a deadline", detail));
                    }
                    Stopped::Crashed => return Ok(Stopped::Crashed),
                    Stopped::Done => {}
                }
            }
        }
        // What is under way at the store comes to its end before the store
        // is given back; nothing else is left.
        let stopped = self.run(|_| false)?;
        let model = self.model.lock();
        if stopped != Stopped::Crashed && model.bodies.running() > 0 {
            return Err(Violation::new(
                "S6.8 dropping the runtime aborts every body",
                format!("{} bodies run on", model.bodies.running()),
            ));
        }
        Ok(stopped)
    }

    /// The last process: everybody comes to rest, then everything is
    /// cancelled, then the slots are counted.
    fn finish(&mut self, plan: &Life) -> Result<Stopped, Violation> {
        self.disk.set_odds(Odds::calm(plan.odds.pause));
        if self.run(|_| false)? == Stopped::Crashed {
            return Ok(Stopped::Crashed);
        }
        self.check_rest()?;
        // Actors that wake may send off more.
        for _ in 0..ROUNDS {
            self.cancel_all()?;
            if self.model.lock().shadow.live().next().is_none() {
                break;
            }
        }
        {
            let model = self.model.lock();
            rest::check_ended(&model, &self.world.actors.lock())?;
        }
        self.probe_slots(plan)?;
        Ok(Stopped::Done)
    }

    fn check_rest(&self) -> Checked {
        let model = self.model.lock();
        let actors = self.world.actors.lock();
        rest::check_progress(&model, &actors)?;
        // The first actors are the readers of the sessions that have one.
        if let [session] = self.world.sessions.lock().as_slice()
            && actors.first() == Some(&Some(Doing::Receiving))
        {
            rest::check_read(&model, Owner::Session(session.id()), actors[0].as_ref())?;
        }
        Ok(())
    }

    fn cancel_all(&mut self) -> Checked {
        let sessions = self.world.sessions.lock().clone();
        let failed = Arc::new(Mutex::new(None));
        for session in sessions {
            let failed = failed.clone();
            self.sim.go(async move {
                if let Err(error) = session.cancel("the end").await {
                    *failed.lock() = Some(error);
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

    /// Fills every slot once more: one that leaked would be missing.
    fn probe_slots(&mut self, plan: &Life) -> Checked {
        if plan.caps.executing.is_none() {
            return Ok(());
        }
        let sessions = self.world.sessions.lock().clone();
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
                    Ok(task) => task.wait().await.is_err(),
                    // A cap on live tasks may refuse it, which is no leak.
                    Err(error) => !matches!(error, Error::Cap(_)),
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

    /// Takes the process apart; when the next one starts.
    fn end(self, rng: &mut Rng, stopped: Stopped) -> Stamp {
        let Self { executor, sim, world, model, runtime, .. } = self;
        {
            let mut model = model.lock();
            model.figures.steps += sim.steps();
            match stopped {
                Stopped::Crashed => model.figures.crashes += 1,
                _ => model.figures.reopened += 1,
            }
            model.trace.note(|| format!("the process ends: {stopped:?}"));
        }
        let wall = sim.wall();
        drop(executor);
        world.forget();
        drop(runtime.lock().take());
        let mut model = model.lock();
        model.bodies.clear();
        model.closing = false;
        // The wall clock may have been set meanwhile.
        let gap = Duration::from_millis(rng.below(5_000) as u64);
        if rng.happens(100) { wall.before(gap) } else { wall.after(gap) }
    }
}
