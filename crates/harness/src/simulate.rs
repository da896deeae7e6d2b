//! One seed: a run of several processes on one disk.

use std::sync::Arc;

use offshoot_core::Stamp;
use offshoot_store::Memory;
use parking_lot::Mutex;

use crate::disk::SimulatedDisk;
use crate::executor::Executor;
use crate::figures::Figures;
use crate::model::invariants::quiescence;
use crate::model::{RuntimeModel, SharedModel};
use crate::planted::PlantedBug;
use crate::process::{ProcessEnd, SimulatedProcess};
use crate::rng::Rng;
use crate::scenario::{Scenario, SecondWorker};
use crate::task_script::ScriptGenerator;
use crate::trace::Trace;
use crate::violation::{Checked, Violation};
use crate::worker::SimulatedWorker;
use crate::worker_context::WorkerContext;

/// The result of a seed.
#[derive(Debug)]
pub struct SimulationOutcome {
    /// The counters.
    pub figures: Figures,
    /// The failure with its trace.
    pub failure: Option<SimulationFailure>,
}

/// A failure.
#[derive(Debug)]
pub struct SimulationFailure {
    /// The broken promise.
    pub violation: Violation,
    /// The last events, if they were traced.
    pub trace: Vec<String>,
}

/// Runs one seed. The same seed and bug give the same run.
pub fn simulate(seed: u64, bug: Option<PlantedBug>, trace: Trace) -> SimulationOutcome {
    let mut rng = Rng::new(seed);
    let plan = Arc::new(Scenario::draw(&mut rng, bug));
    let model = Arc::new(Mutex::new(RuntimeModel::new(&plan, trace)));
    let memory = plan.memory();
    let mut life = Simulation { plan, memory, model: model.clone(), rng, authors: 0 };
    let lived = life.live();
    let mut model = model.lock();
    let violation = model.violation.take().or(lived.err());
    let trace = if violation.is_some() { model.trace.tail() } else { Vec::new() };
    SimulationOutcome {
        figures: model.figures,
        failure: violation.map(|violation| SimulationFailure { violation, trace }),
    }
}

struct Simulation {
    plan: Arc<Scenario>,
    memory: Memory,
    model: SharedModel,
    rng: Rng,
    authors: u64,
}

impl Simulation {
    fn live(&mut self) -> Checked {
        let mut epoch = Stamp::from_millis(1_700_000_000_000);
        for number in 1..=self.plan.processes {
            let last = number == self.plan.processes;
            let company = self.plan.company(number, &mut self.rng);
            let mut process = self.process(company, epoch);
            let mut stopped = process.open(company)?;
            if stopped == ProcessEnd::Done {
                stopped = process.work(company)?;
            }
            if stopped != ProcessEnd::Crashed {
                stopped = if last {
                    process.finish(&self.plan)?
                } else {
                    process.close(&mut self.rng)?
                };
            }
            epoch = process.end(&mut self.rng, stopped);
        }
        // After a crash of the last process, one more process finishes without faults.
        if self.model.lock().shadow.is_unfinished() {
            let mut process = self.process(SecondWorker::None, epoch);
            process.keep_alive();
            if process.open(SecondWorker::None)? == ProcessEnd::Done {
                process.finish(&self.plan)?;
            }
            process.end(&mut self.rng, ProcessEnd::Done);
        }
        quiescence::check_disk(&self.model.lock(), &self.memory)
    }

    fn process(&mut self, company: SecondWorker, epoch: Stamp) -> SimulatedProcess {
        let executor = Executor::new(self.rng.fork(), epoch);
        let lanes = match company {
            SecondWorker::None => 1,
            SecondWorker::AtOnce | SecondWorker::After(_) => 2,
        };
        let workers = (0..lanes).map(|lane| self.worker(&executor, lane)).collect();
        SimulatedProcess::new(executor, self.model.clone(), workers)
    }

    fn worker(&mut self, executor: &Executor, lane: usize) -> SimulatedWorker {
        let (memory, model) = (self.memory.clone(), self.model.clone());
        let disk = SimulatedDisk::new(memory, executor.sim(), model, self.plan.odds);
        let author = ScriptGenerator::resume(self.rng.fork(), self.authors);
        self.authors += 1;
        let world = WorkerContext::new(disk.clone(), lane, author);
        SimulatedWorker::new(disk, world, self.plan.clone())
    }
}
