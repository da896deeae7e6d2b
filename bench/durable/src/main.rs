//! `offshoot-bench-durable cell offshoot <d1|d2|d3> <n>`: one SQLite workload at one size, in this
//! process. The figures go to standard output, in the lines that `offshoot-bench` reads.

#![warn(missing_docs)]

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use offshoot_bench::args::{Cell, Command};
use offshoot_bench::figure::Outcome;
use offshoot_bench::process::WORKERS;
use offshoot_bench::systems::SUBJECT;
use offshoot_bench::workload::Workload;

mod callers;
mod d1;
mod d2;
mod d3;
mod folder;
mod stored;
mod writer;

/// Runs one SQLite workload for `offshoot-bench`, which is the program to start.
#[derive(Debug, Parser)]
#[command(name = "offshoot-bench-durable")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let Command::Cell(cell) = Cli::parse().command;
    match run(&cell) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the cell inside a spawned task, as a server's code would run.
fn run(cell: &Cell) -> Result<()> {
    ensure!(cell.system == SUBJECT, "no system `{}` here; there is: {SUBJECT}", cell.system);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let outcome = runtime.block_on(runtime.spawn(measure(cell.workload, cell.n)))??;
    let mut out = std::io::stdout().lock();
    out.write_all(outcome.encode().as_bytes())?;
    out.flush()?;
    Ok(())
}

async fn measure(workload: Workload, n: usize) -> Result<Outcome> {
    let figures = match workload {
        Workload::D1 => d1::run(n).await?,
        Workload::D2 => d2::run(n).await?,
        Workload::D3 => d3::run(n).await?,
        other => bail!("no workload `{other}` here; there are: d1, d2, d3"),
    };
    Ok(figures.into())
}
