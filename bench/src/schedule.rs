//! The order in which cells run. Systems take turns inside every repetition of a size, so that
//! a noisy moment of the machine affects all of them alike.

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::args::{Matrix, MatrixCell};
use crate::figure::Figure;
use crate::machine::Machine;
use crate::process::{Gap, launch};
use crate::report;
use crate::results::Results;
use crate::systems::SUBJECT;
use crate::workload::{Home, Workload};

/// Runs the matrix and writes the report again after every workload.
pub async fn run(matrix: &Matrix) -> Result<()> {
    let here = std::env::current_exe().context("this executable cannot be found again")?;
    check_files(matrix)?;
    let machine = Machine::look();
    let mut results = Results::default();
    for workload in matrix.workloads() {
        let executable = match (workload.home(), &matrix.durable) {
            (Home::Here, _) => here.as_path(),
            (Home::Durable, Some(durable)) => durable,
            (Home::Durable, None) => continue,
        };
        run_workload(executable, workload, matrix, &mut results).await;
        let text = report::render(&machine, &matrix.shown(), &results);
        std::fs::write(&matrix.out, text)
            .with_context(|| format!("the report cannot be written to {}", matrix.out.display()))?;
    }
    eprintln!("written {}", matrix.out.display());
    Ok(())
}

/// Checks before the measurements that the files of the arguments can be used.
fn check_files(matrix: &Matrix) -> Result<()> {
    if let Some(durable) = &matrix.durable {
        ensure!(durable.is_file(), "--durable {}: no such file", durable.display());
    }
    OpenOptions::new().create(true).append(true).open(&matrix.out).with_context(|| {
        format!("the report cannot be written to {}; see --out", matrix.out.display())
    })?;
    Ok(())
}

async fn run_workload(
    executable: &Path,
    workload: Workload,
    matrix: &Matrix,
    results: &mut Results,
) {
    let systems = match workload.home() {
        Home::Here => matrix.systems(),
        Home::Durable => vec![SUBJECT.to_owned()],
    };
    let mut out_of_time: Vec<String> = Vec::new();
    for n in workload.sizes(&matrix.sizes()) {
        for system in &out_of_time {
            results.add_gap(workload, system, n, Gap::Skipped);
        }
        for run in 0..matrix.runs {
            for turn in 0..systems.len() {
                // Each repetition starts with another system: no system always runs after the same one.
                let system = &systems[(turn + run as usize) % systems.len()];
                if out_of_time.contains(system) || results.gap(workload, system, n).is_some() {
                    continue;
                }
                let cell = MatrixCell { system: system.clone(), workload, n };
                let outcome = launch(executable, &cell).await;
                progress(&cell, run, &outcome);
                match outcome {
                    Ok(figures) => results.add(system, n, &figures),
                    Err(gap) => {
                        if gap == Gap::TimedOut {
                            out_of_time.push(system.clone());
                        }
                        results.add_gap(workload, system, n, gap);
                    }
                }
            }
        }
    }
}

fn progress(cell: &MatrixCell, run: u32, outcome: &Result<Vec<Figure>, Gap>) {
    let told = match outcome {
        Ok(figures) => {
            let shown = figures.iter().map(|figure| {
                format!("{} {}", figure.metric.title(), figure.metric.unit().show(figure.value))
            });
            shown.collect::<Vec<_>>().join(", ")
        }
        Err(Gap::NotOffered(why)) => format!("n/a: {why}"),
        Err(Gap::TimedOut) => format!("killed after {} s", cell.workload.limit().as_secs()),
        Err(Gap::Skipped) => "skipped".to_owned(),
        Err(Gap::Failed(why)) => format!("FAILED: {why}"),
    };
    eprintln!("{:7} {:8} N={:<6} run {}: {told}", cell.workload.id(), cell.system, cell.n, run + 1);
}
