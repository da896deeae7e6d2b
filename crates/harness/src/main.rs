//! The fault harness as a program; `cargo xtask` calls it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use offshoot_harness::planted::Bug;
use offshoot_harness::{seeds, trace};

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
        bug: Option<Bug>,
    },
}

fn bug(word: &str) -> Result<Bug, String> {
    let known = Bug::ALL.map(Bug::word).join(", ");
    Bug::of_word(word).ok_or_else(|| format!("no such bug; there are {known}"))
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
    }
}

fn report(harvest: &seeds::Harvest) -> ExitCode {
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
