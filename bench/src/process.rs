//! One cell, one process: memory figures start at zero, a slow cell can be killed, and no
//! system affects the next one.

use std::path::Path;
use std::process::Stdio;

use anyhow::Result;
use tokio::process::Command;
use tokio::time::timeout;

use crate::args::MatrixCell;
use crate::figure::{Figure, Outcome};
use crate::systems;

/// Worker threads of the runtime a cell runs on.
pub const WORKERS: usize = 2;

/// The reason that a cell has no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The system has no such operation.
    NotOffered(String),
    /// The cell was killed at its time limit.
    TimedOut,
    /// The cell, or a smaller one of the same kind, was not run because one timed out.
    Skipped,
    /// The cell failed.
    Failed(String),
}

/// Runs `cell` in a child process of `executable`, within the workload's time limit.
pub async fn launch(executable: &Path, cell: &MatrixCell) -> Result<Vec<Figure>, Gap> {
    let child = Command::new(executable)
        .args(["cell", &cell.system, cell.workload.id(), &cell.n.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| Gap::Failed(format!("no process: {error}")))?;
    let output = match timeout(cell.workload.limit(), child.wait_with_output()).await {
        Err(_) => return Err(Gap::TimedOut),
        Ok(Err(error)) => return Err(Gap::Failed(error.to_string())),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.lines().rfind(|line| !line.trim().is_empty());
        return Err(Gap::Failed(format!("{}: {}", output.status, complaint.unwrap_or("silent"))));
    }
    match Outcome::decode(&String::from_utf8_lossy(&output.stdout)) {
        Ok(Outcome::Figures(figures)) => Ok(figures),
        Ok(Outcome::NotOffered(why)) => Err(Gap::NotOffered(why)),
        Err(why) => Err(Gap::Failed(why)),
    }
}

/// Runs `cell` in this process: inside a spawned task, as a server's code would run.
pub fn run_here(cell: &MatrixCell) -> Result<Outcome> {
    let system = systems::find(&cell.system).map_err(anyhow::Error::msg)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let outcome = runtime.block_on(runtime.spawn((system.run)(cell.workload, cell.n)))?;
    // Parked tasks would be taken down one by one; the process is about to end anyway.
    std::mem::forget(runtime);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Metric;
    use crate::systems::FLOOR;
    use crate::workload::{Home, Workload};

    #[test]
    fn the_floor_does_every_workload() {
        for workload in Workload::ALL.into_iter().filter(|w| w.home() == Home::Here) {
            let cell = MatrixCell { system: FLOOR.to_owned(), workload, n: 10 };
            let Outcome::Figures(figures) = run_here(&cell).unwrap() else {
                panic!("{workload} is not offered");
            };
            let metrics: Vec<Metric> = figures.iter().map(|figure| figure.metric).collect();
            assert_eq!(metrics, Metric::of(workload).collect::<Vec<_>>());
            assert!(figures.iter().all(|figure| figure.value.is_finite()), "{figures:?}");
        }
    }

    #[test]
    fn an_unknown_system_is_an_error() {
        let cell = MatrixCell { system: "missing".to_owned(), workload: Workload::W1, n: 10 };
        assert!(run_here(&cell).unwrap_err().to_string().contains("missing"));
    }
}
