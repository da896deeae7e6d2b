//! `offshoot-bench`: runs every cell (system, workload, N) in a process of its own and writes the
//! report; `offshoot-bench cell <system> <workload> <n>` is one such process.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use offshoot_bench::args::{Cli, Command, MatrixCell};
use offshoot_bench::{process, schedule};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Some(Command::Cell(cell)) => run_cell(cell),
        None => run_matrix(&cli),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_cell(cell: &MatrixCell) -> Result<()> {
    let outcome = process::run_here(cell)?;
    let mut out = std::io::stdout().lock();
    out.write_all(outcome.encode().as_bytes())?;
    out.flush()?;
    Ok(())
}

fn run_matrix(cli: &Cli) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(schedule::run(&cli.matrix))
}
