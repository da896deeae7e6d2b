//! One worker: a store, a runtime on it, and the actors that use it.

use std::sync::Arc;

use offshoot_runtime::{Environment, Error, RestartPolicy, Runtime};
use offshoot_store::Store;
use parking_lot::Mutex;

use crate::disk::SimulatedDisk;
use crate::executor::Sim;
use crate::planted::BuggyStore;
use crate::running_bodies::BodyActivity;
use crate::scenario::MAX_ATTEMPTS;
use crate::scenario::Scenario;
use crate::worker_context::{WorkerContext, session_name};
use crate::workload::body::register;
use crate::workload::host::HostContext;
use crate::workload::{delivering, following, host, looking};

/// One worker. Clones are the same worker.
#[derive(Clone, Debug)]
pub struct SimulatedWorker {
    /// Its store.
    pub disk: SimulatedDisk,
    /// The state that its actors and bodies share.
    pub world: Arc<WorkerContext>,
    stage: Arc<Mutex<Stage>>,
    plan: Arc<Scenario>,
}

#[derive(Debug)]
enum Stage {
    Ahead,
    Open(Arc<Runtime>),
    Over,
}

impl SimulatedWorker {
    /// A worker that is not open yet.
    pub fn new(disk: SimulatedDisk, world: Arc<WorkerContext>, plan: Arc<Scenario>) -> Self {
        Self { disk, world, stage: Arc::new(Mutex::new(Stage::Ahead)), plan }
    }

    fn sim(&self) -> &Sim {
        &self.world.sim
    }

    /// Whether its runtime is open.
    pub fn is_open(&self) -> bool {
        matches!(*self.stage.lock(), Stage::Open(_))
    }

    /// Takes its runtime away, to close it or to drop it. The worker gets no other.
    pub fn take(&self) -> Option<Runtime> {
        match std::mem::replace(&mut *self.stage.lock(), Stage::Over) {
            // An actor that opens a session at this moment has the runtime, too, and drops it
            // afterwards.
            Stage::Open(runtime) => Arc::into_inner(runtime),
            Stage::Ahead | Stage::Over => None,
        }
    }

    /// Whether it was open and all its actors are done.
    pub fn is_done(&self) -> bool {
        match *self.stage.lock() {
            Stage::Ahead => false,
            Stage::Open(_) => self.world.actors.lock().iter().all(Option::is_none),
            Stage::Over => true,
        }
    }

    /// Opens the runtime and its sessions.
    pub async fn open(self) {
        let plan = &self.plan;
        let disk: Arc<dyn Store> = Arc::new(self.disk.clone());
        let store: Arc<dyn Store> = match plan.bug {
            Some(bug) => {
                let sim = self.sim().clone();
                Arc::new(BuggyStore::new(disk, bug, Arc::new(move |future| sim.spawn(future))))
            }
            None => disk,
        };
        let restarts = RestartPolicy { max_attempts: MAX_ATTEMPTS, ..RestartPolicy::default() };
        let builder = Runtime::builder(store)
            .environment(Arc::new(self.sim().clone()))
            .caps(plan.caps.clone())
            .grace(plan.grace)
            .restarts(restarts)
            .sizes(plan.sizes)
            .retention(plan.keeping.retention());
        let Ok(runtime) = register(&self.world, builder).open().await else { return };
        for number in 0..plan.sessions {
            loop {
                match runtime.session(&session_name(number)).await {
                    Ok(session) => break self.world.sessions.lock().push(session),
                    Err(Error::Store(_)) => {}
                    Err(_) => return,
                }
            }
        }
        let mut stage = self.stage.lock();
        // The worker may have been released before it was open.
        if matches!(*stage, Stage::Ahead) {
            let runtime = Arc::new(runtime);
            *self.world.runtime.lock() = Arc::downgrade(&runtime);
            *stage = Stage::Open(runtime);
        }
    }

    /// Starts the actors.
    pub fn populate(&self) {
        let (world, sim) = (&self.world, self.sim());
        let sessions = world.sessions.lock().clone();
        for session in &sessions {
            sim.go(looking::recall(world.clone(), session.clone()));
            sim.go(following::follow(world.clone(), session.clone()));
            if sim.draw(|rng| rng.happens(500)) {
                let actor = self.actor(BodyActivity::Receiving);
                sim.go(delivering::deliver(world.clone(), session.clone(), actor));
            }
        }
        for _ in 0..self.plan.hosts {
            let which = sim.draw(|rng| rng.below(sessions.len()));
            let Some(session) = sessions.get(which).cloned() else { continue };
            let at = HostContext { session, number: which };
            let actor = self.actor(BodyActivity::Working);
            let actions = sim.draw(|rng| rng.between(1, self.plan.actions));
            sim.go(host::run(world.clone(), at, actor, actions));
        }
    }

    fn actor(&self, doing: BodyActivity) -> usize {
        let mut actors = self.world.actors.lock();
        actors.push(Some(doing));
        actors.len() - 1
    }

    /// Drops the runtime and every reference to its engine.
    pub fn dismiss(&self) {
        self.world.forget();
        drop(self.take());
    }
}
