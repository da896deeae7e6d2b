//! `cargo xtask measure`: the cost of the program for its user, written to `bench/SHELL.md`,
//! and the cost of agents, written to `bench/AGENTS.md`.
//!
//! A row is one function below: it drives the release binary on a data directory of its own, as
//! a script does, and reports its figures beside the required limits.
//! its own, as a script would, and says what it saw beside what must hold.

mod agents;
mod rows;
mod world;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::repository::Repository;
use rows::Row;
use world::World;

/// The file of the figures.
const REPORT: &str = "bench/SHELL.md";

/// Arguments of `cargo xtask measure`.
#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// Print the figures and leave the report as it is
    #[arg(long)]
    dry: bool,
}

impl Measure {
    /// Builds the program, measures, and writes the report. An error names the limits that are
    /// not met.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        let program = crate::executable::program(repository)?;
        let mut measured = Vec::new();
        for row in rows::ALL {
            let world = World::new(&program)?;
            let row = row(&world).context("the program could not be measured")?;
            println!("    {}: {} (must be {})", row.what, row.measured, row.must);
            measured.push(row);
        }
        let agents = agents::report(repository).context("agents could not be measured")?;
        for (path, report) in [(REPORT, &report(&measured)?), (agents::REPORT, &agents)] {
            if self.dry {
                println!("\n{report}");
            } else {
                std::fs::write(repository.root().join(path), report)?;
            }
        }
        let missed = measured.iter().filter(|row| !row.holds).map(|row| row.what);
        let missed: Vec<_> = missed.chain(agents::missed(&agents)).collect();
        if !missed.is_empty() {
            bail!("does not hold: {}", missed.join("; "));
        }
        Ok(())
    }
}

fn report(rows: &[Row]) -> Result<String> {
    let (cpu, kernel) = (world::processor()?, world::kernel()?);
    let mut report = format!(
        "# The program in figures\n\n\
         Written by `cargo xtask measure` ({cpu}, {kernel}); every run replaces it. The program is the\n\
         release build, driven through its command line on a fresh data folder for each row.\n\n\
         | what | measured | must be | |\n|---|---|---|---|\n"
    );
    for Row { what, measured, must, holds } in rows {
        let verdict = if *holds { "met" } else { "**not met**" };
        report.push_str(&format!("| {what} | {measured} | {must} | {verdict} |\n"));
    }
    Ok(report)
}
