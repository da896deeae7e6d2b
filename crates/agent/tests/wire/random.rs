//! Random runs: under every mix of agents, people and crashes, the provider accepts every
//! request, and every result is delivered to its owner once.
//!
//! A seed names each failed run. `OFFSHOOT_SEED=17` repeats that run, and `OFFSHOOT_LIVES=1000`
//! sets the number of runs.

mod deliveries;
mod dice;
mod people;
mod script;
mod seen;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use offshoot_agent::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot_core::TaskId;
use offshoot_models::Models;
use offshoot_runtime::{RestartPolicy, Runtime};
use offshoot_sqlite::Sqlite;
use offshoot_wiretest::Server;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use self::dice::Dice;
use self::people::Person;
use self::script::Script;
use self::seen::Seen;
use crate::support::{NAMES, ServedModels, Test};

type RunResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The default number of runs.
const RUNS: u64 = 32;

/// The number of concurrent runs.
const AT_ONCE: usize = 4;

/// The maximum number of times that an ended lead is continued.
const SEQUELS: u64 = 2;

/// A tool that has an effect each time.
async fn look(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
    Ok("water. ".repeat(60))
}

/// The end of one process.
enum Epoch {
    /// The lead has ended, and no message continues it.
    Over,
    /// The process died.
    Died,
}

/// One run of a lead and the agents it spawns.
struct RandomRun {
    dice: Dice,
    seen: Arc<Seen>,
    folder: tempfile::TempDir,
    server: Server,
    served: ServedModels,
    agents: Agents,
    hang: Arc<AtomicUsize>,
    lead: Option<TaskId>,
    sequels: u64,
}

impl RandomRun {
    async fn new(seed: u64, models: Models, seen: Arc<Seen>) -> std::io::Result<Self> {
        let mut dice = Dice::of(seed);
        let hang = Arc::new(AtomicUsize::new(0));
        let mut script = Script::new(dice.clone(), hang.clone(), seen.clone());
        let server = Server::start(move |asked| script.next(asked)).await?;
        let window = *dice.one_of(&[1_000, 2_500, 128_000]);
        let served = ServedModels::with(models, &server).of_window(window);
        let look = Function::new("look", "Looks.", look);
        let agents = Agents::new(served.clone()).tool(look);
        let (folder, sequels) = (tempfile::tempdir()?, dice.below(SEQUELS + 1));
        Ok(Self { dice, seen, folder, server, served, agents, hang, lead: None, sequels })
    }

    async fn run(mut self) -> RunResult {
        loop {
            match self.epoch().await? {
                Epoch::Over => return Ok(()),
                Epoch::Died => self.seen.crashed.add(),
            }
            self.switch();
        }
    }

    /// Perhaps gives every name another model from now on.
    fn switch(&mut self) {
        if self.dice.once_in(2) {
            self.served.turn(self.dice.below(NAMES.len() as u64) as usize);
            self.seen.switched.add();
        }
    }

    /// Runs one process until its end.
    async fn epoch(&mut self) -> Result<Epoch, Box<dyn std::error::Error + Send + Sync>> {
        let store = Sqlite::at(self.folder.path());
        let runtime = Runtime::builder(store).backend(KIND, self.agents.backend());
        // The agents make progress in spite of many crashes, without a delay.
        let back_off = Duration::from_millis(1);
        let restarts = RestartPolicy { max_attempts: 1_000, back_off, max_back_off: back_off };
        let runtime = runtime.restarts(restarts).open().await?;
        let session = runtime.session("main").await?;
        if self.lead.is_none() {
            let model = self.dice.one_of(&NAMES).parse()?;
            let brief = Brief::new(model, "lead");
            self.lead = Some(session.spawn(self.agents.request(&brief)?).await?.id());
        }
        let person = Person { runtime: &runtime, seen: &self.seen.clone() };
        while let Some(id) = self.lead {
            let lead = session.task(&id.to_string()).await?;
            let until = self.server.asked_times() + 1 + self.dice.below(8) as usize;
            let may_hang = self.dice.once_in(3);
            if may_hang {
                self.hang.store(until, Ordering::SeqCst);
            }
            let ended = tokio::select! {
                ended = lead.wait() => ended.map(|_| true)?,
                () = self.server.was_asked(until) => false,
            };
            let hangs = may_hang && self.hang.swap(0, Ordering::SeqCst) == 0;
            self.check_requests()?;
            if ended {
                if self.sequels == 0 {
                    deliveries::check(&runtime, &session).await?;
                    return Ok(Epoch::Over);
                }
                self.sequels -= 1;
                self.switch();
                let receipts = lead.send("and now?").await?;
                self.lead = receipts.first().map(|receipt| receipt.task);
                self.seen.continued.add();
                continue;
            }
            if self.dice.once_in(6) {
                return Ok(Epoch::Died);
            }
            if hangs {
                person.interrupt_all().await;
            }
            if let Some(other) = person.meddle(&mut self.dice, &lead).await {
                self.lead = Some(other);
            }
        }
        Ok(Epoch::Over)
    }

    fn check_requests(&self) -> RunResult {
        let broken = self.server.take_violations();
        if broken.is_empty() {
            Ok(())
        } else {
            Err(format!("rules were broken: {broken:#?}").into())
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_3_in_random_runs_results_arrive_once_and_requests_are_valid() -> Test {
    let seeds = match number("OFFSHOOT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OFFSHOOT_LIVES").unwrap_or(RUNS),
    };
    let (models, seen) = (Models::default(), Arc::new(Seen::default()));
    let (mut runs, mut failed) = (JoinSet::new(), Vec::new());
    let many = seeds.end - seeds.start;
    let mut seeds = seeds.peekable();
    while seeds.peek().is_some() || !runs.is_empty() {
        while runs.len() < AT_ONCE
            && let Some(seed) = seeds.next()
        {
            let (models, seen) = (models.clone(), seen.clone());
            // Each run is a task of its own, so that a panic is reported with its seed.
            runs.spawn(async move {
                let run =
                    tokio::spawn(
                        async move { RandomRun::new(seed, models, seen).await?.run().await },
                    );
                (seed, run.await.map_err(|panic| panic.to_string()))
            });
        }
        let Some(run) = runs.join_next().await else { break };
        match run? {
            (_, Ok(Ok(()))) => {}
            (seed, Ok(Err(error))) => failed.push(format!("OFFSHOOT_SEED={seed}: {error}")),
            (seed, Err(panic)) => failed.push(format!("OFFSHOOT_SEED={seed}: {panic}")),
        }
    }
    assert!(failed.is_empty(), "{} of {many} runs failed:\n{}", failed.len(), failed.join("\n"));
    let never = seen.never();
    assert!(many < RUNS || never.is_empty(), "these never happened: {never:?}");
    println!("{many} runs: {seen:?}");
    Ok(())
}
