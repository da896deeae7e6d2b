//! `offshoot-bench-durable cell offshoot <d1|d2|d3> <n>`: one SQLite workload at one size, in this
//! process. The figures go to standard output, in the lines that `offshoot-bench` reads.

#![warn(missing_docs)]

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Parser;
use offshoot_bench::args::{Command, MatrixCell};
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
fn run(cell: &MatrixCell) -> Result<()> {
    ensure!(cell.system == SUBJECT, "no system `{}` here; there is: {SUBJECT}", cell.system);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let outcome = runtime.block_on(runtime.spawn(measure(cell.workload, cell.n, d1::EACH)))??;
    let mut out = std::io::stdout().lock();
    out.write_all(outcome.encode().as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The figures of a workload at size `n`, where `each` is the time that each part of D1 takes.
async fn measure(workload: Workload, n: usize, each: Duration) -> Result<Outcome> {
    let figures = match workload {
        Workload::D1 => d1::run(n, each).await?,
        Workload::D2 => d2::run(n).await?,
        Workload::D3 => d3::run(n).await?,
        other => bail!("no workload `{other}` here; there are: d1, d2, d3"),
    };
    Ok(figures.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use offshoot_bench::figure::Metric;

    /// One after another: the writer's time is that of the newest writer in the process.
    #[tokio::test(flavor = "multi_thread")]
    async fn every_workload_yields_its_metrics() {
        for workload in [Workload::D1, Workload::D2, Workload::D3] {
            let outcome = measure(workload, 10, Duration::from_millis(50)).await.unwrap();
            let Outcome::Figures(figures) = outcome else {
                panic!("{workload} is not offered");
            };
            let metrics: Vec<Metric> = figures.iter().map(|figure| figure.metric).collect();
            assert_eq!(metrics, Metric::of(workload).collect::<Vec<_>>());
            assert!(figures.iter().all(|figure| figure.value.is_finite()), "{figures:?}");
        }
    }

    #[tokio::test]
    async fn a_workload_that_runs_elsewhere_is_an_error() {
        let error = measure(Workload::W1, 10, Duration::ZERO).await.unwrap_err();
        assert!(error.to_string().contains("w1"), "{error}");
    }
}
