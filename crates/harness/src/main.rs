//! The fault harness as a program; `cargo xtask` calls it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use offshoot_harness::agents::kill_point::KillPoint;
use offshoot_harness::agents::sweep::{self, KillSweep};
use offshoot_harness::agents::{case, worker};
use offshoot_harness::crash::child::{self, Aim, Orders};
use offshoot_harness::crash::kill_switch::Side;
use offshoot_harness::crash::ledger::Telling;
use offshoot_harness::crash::parent;
use offshoot_harness::planted::PlantedBug;
use offshoot_harness::shell::report;
use offshoot_harness::{seeds, trace};
use offshoot_wiretest::WireProtocol;

/// The fault harness of Offshoot.
#[derive(Debug, Parser)]
#[command(name = "offshoot-harness")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Live many simulated lives, each decided by its seed
    Simulate {
        /// How many
        #[arg(long, default_value_t = 2_000)]
        seeds: u64,
        /// Live this one only, and show how it went
        #[arg(long)]
        seed: Option<u64>,
        /// The first of them
        #[arg(long, default_value_t = 1)]
        first: u64,
        /// Go on after failures, and count them
        #[arg(long)]
        survey: bool,
        /// Plant this bug
        #[arg(long, value_parser = bug)]
        bug: Option<PlantedBug>,
    },
    /// Kill many processes, and compare what each leaves with what was
    /// acknowledged to it
    Crash {
        /// How many
        #[arg(long, default_value_t = 100)]
        kills: u64,
        /// What their loads are drawn from
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Plant this bug
        #[arg(long, value_parser = bug)]
        bug: Option<PlantedBug>,
    },
    /// Kill the daemon of the real binary while scripts drive it, and compare
    /// what is left with what was acknowledged
    Shell {
        /// The binary
        program: PathBuf,
        /// How many daemons
        #[arg(long, default_value_t = 50)]
        kills: u64,
        /// What the scripts are drawn from
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Kill agents at every commit they make, and compare what is left with what
    /// a life without a crash leaves
    Agents(AgentSweep),
    /// The process that is killed
    #[command(hide = true)]
    Child(Child),
    /// The process that is killed while it has agents at work
    #[command(hide = true)]
    AgentWorker(AgentWorker),
}

/// What the parent tells the child.
#[derive(Debug, Args)]
struct Child {
    folder: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    die_at: Option<u64>,
    #[arg(long, default_value = "before")]
    side: String,
    #[arg(long)]
    tell: bool,
    #[arg(long)]
    finish: bool,
    #[arg(long, value_parser = bug)]
    bug: Option<PlantedBug>,
}

impl Child {
    fn run(&self) -> anyhow::Result<()> {
        let side = if self.side == "after" { Side::After } else { Side::Before };
        let orders = Orders {
            seed: self.seed,
            mine: self.die_at.map(|at| (at, side)),
            bug: self.bug,
            telling: if self.tell { Telling::Aloud } else { Telling::Silent },
            aim: if self.finish { Aim::Finish } else { Aim::Work },
        };
        child::run(&self.folder, orders)
    }
}

/// At which commits agents are killed.
#[derive(Debug, Args)]
struct AgentSweep {
    /// How many folders lose two workers, the second while it takes up the work
    /// of the first
    #[arg(long, default_value_t = 0)]
    pairs: usize,
    /// What those are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Of how many commits one is tried
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Kill only here, as the report says it; say it again for the next worker
    #[arg(long)]
    at: Vec<KillPoint>,
    /// Plant this bug
    #[arg(long, value_parser = bug)]
    bug: Option<PlantedBug>,
}

/// What a worker of agents is told.
#[derive(Debug, Args)]
struct AgentWorker {
    folder: PathBuf,
    address: String,
    #[arg(long, value_parser = language)]
    language: WireProtocol,
    #[arg(long)]
    life: usize,
    #[arg(long)]
    point: Option<KillPoint>,
    #[arg(long, value_parser = bug)]
    bug: Option<PlantedBug>,
}

impl AgentWorker {
    fn run(self) -> anyhow::Result<()> {
        let Self { folder, address, language, life, point, bug } = self;
        worker::run(&worker::Orders { folder, address, language, life, point, bug })
    }
}

fn language(word: &str) -> Result<WireProtocol, String> {
    let found = WireProtocol::ALL.into_iter().find(|language| case::word(*language) == word);
    found.ok_or_else(|| format!("there is no language {word:?}"))
}

fn bug(word: &str) -> Result<PlantedBug, String> {
    let known = PlantedBug::ALL.map(PlantedBug::word).join(", ");
    PlantedBug::of_word(word).ok_or_else(|| format!("no such bug; there are {known}"))
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Simulate { seeds, first, survey: true, bug, .. } => {
            for (invariant, times, seed) in seeds::survey(first, seeds, bug) {
                println!("{times:>6} times, first by seed {seed}: {invariant}");
            }
            ExitCode::SUCCESS
        }
        Command::Simulate { seeds, seed, first, bug, .. } => {
            let harvest = match seed {
                Some(seed) => seeds::live(seed, 1, bug),
                None => seeds::live(first, seeds, bug),
            };
            report(&harvest)
        }
        Command::Crash { kills, seed, bug } => crash(kills, seed, bug),
        Command::Shell { program, kills, seed } => shell(&program, kills, seed),
        Command::Agents(asked) => agents(asked),
        Command::Child(child) => exit_code_of(child.run()),
        Command::AgentWorker(worker) => exit_code_of(worker.run()),
    }
}

fn exit_code_of(ended: anyhow::Result<()>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the child failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn agents(asked: AgentSweep) -> ExitCode {
    let AgentSweep { pairs, seed, every, at, bug } = asked;
    let swept = std::env::current_exe()
        .map_err(anyhow::Error::from)
        .and_then(|program| sweep::run(&KillSweep { program, bug, every, pairs, seed, at }));
    let toll = match swept {
        Ok(toll) => toll,
        Err(error) => {
            eprintln!("the harness itself failed: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    println!("{toll}");
    for point in &toll.missed {
        println!("  not met again: {point}");
    }
    match toll.broken {
        Some((violation, points)) => {
            let again: Vec<_> = points.iter().map(|point| format!("--at '{point}'")).collect();
            println!("\na promise is broken: {violation}");
            println!("see it again with `cargo xtask crash --agents {}`", again.join(" "));
            if let Some(evidence) = toll.evidence {
                println!("what the disk holds is kept in {}", evidence.keep().display());
            }
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

fn crash(kills: u64, seed: u64, bug: Option<PlantedBug>) -> ExitCode {
    let killed = std::env::current_exe()
        .map_err(anyhow::Error::from)
        .and_then(|program| parent::kill_many(&program, kills, seed, bug));
    let toll = match killed {
        Ok(toll) => toll,
        Err(error) => {
            eprintln!("the harness itself failed: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "{} kills, {} of them at a commit, in {:.1} s: {} folders, {} tasks, \
         {} entries of what was acknowledged checked",
        toll.kills,
        toll.at_commits,
        toll.took.as_secs_f64(),
        toll.folders,
        toll.tasks,
        toll.operations
    );
    match toll.violation {
        Some(violation) => {
            println!("\na promise is broken: {}", trace::short(&violation.to_string()));
            if let Some(evidence) = toll.evidence {
                println!("what the disk holds is kept in {}", evidence.keep().display());
            }
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

fn shell(program: &Path, kills: u64, seed: u64) -> ExitCode {
    let toll = match report::kill_many(program, kills, seed) {
        Ok(toll) => toll,
        Err(error) => {
            eprintln!("the harness itself failed: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    println!("{toll}");
    for cut in toll.cut.iter().take(3) {
        println!("  cut, for example: {cut}");
    }
    match toll.broken {
        Some((broken, folder)) => {
            println!("\n{broken}\nseed {seed}; the data folder is kept in {}", folder.display());
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

fn report(harvest: &seeds::SeedReport) -> ExitCode {
    let seconds = harvest.took.as_secs_f64();
    println!(
        "{} seeds in {seconds:.1} s ({:.0} a second): {}",
        harvest.seeds,
        harvest.seeds as f64 / seconds.max(1e-9),
        harvest.figures
    );
    let Some((seed, failure)) = &harvest.failed else { return ExitCode::SUCCESS };
    for line in &failure.trace {
        println!("{line}");
    }
    println!("\nseed {seed} breaks a promise: {}", trace::short(&failure.violation.to_string()));
    println!("see it again with `cargo xtask simulate --seed {seed}`");
    ExitCode::FAILURE
}
