//! The process that kills.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::crash::audit::{Looked, audit};
use crate::crash::kill_switch::Side;
use crate::planted::PlantedBug;
use crate::rng::Rng;
use crate::violation::{Checked, Violation};

/// The number of kills after which a directory is ended and a new one begun.
const KILLS_PER_FOLDER: u64 = 20;

/// The result of many kills.
#[derive(Debug, Default)]
pub struct CrashReport {
    /// The number of killed processes.
    pub kills: u64,
    /// The number of kills at a commit.
    pub at_commits: u64,
    /// The number of finished directories.
    pub folders: u64,
    /// Tasks on the finished disks.
    pub tasks: u64,
    /// Acknowledged operations that were checked at the end.
    pub operations: u64,
    /// The duration.
    pub took: Duration,
    /// The broken promise, if there is one.
    pub violation: Option<Violation>,
    /// The directory that shows it. It is deleted with this value.
    pub evidence: Option<TempDir>,
}

/// Kills `kills` processes of `program`, and audits each result. Stops at the first broken
/// promise.
pub fn kill_many(
    program: &Path,
    kills: u64,
    seed: u64,
    bug: Option<PlantedBug>,
) -> Result<CrashReport> {
    let began = Instant::now();
    let mut report = CrashReport::default();
    let mut rng = Rng::new(seed);
    while report.kills < kills && report.violation.is_none() {
        let folder = tempfile::tempdir().context("no folder for the data")?;
        let mut killer = Killer { program: program.to_owned(), folder: folder.path(), bug };
        let round = KILLS_PER_FOLDER.min(kills - report.kills);
        let mut looked = Looked::default();
        for number in 0..round {
            // Every other process dies at a commit: each commit of a run in turn, on both
            // sides.
            if number % 2 == 0 {
                let at = 1 + (report.at_commits / 2) % 60;
                let side = if report.at_commits % 2 == 0 { Side::Before } else { Side::After };
                killer.let_die(rng.bits(), at, side)?;
                report.at_commits += 1;
            } else {
                killer.kill(rng.bits(), rng.below(400))?;
            }
            report.kills += 1;
            let (seen, checked) = audit(killer.folder, false)?;
            looked = seen;
            if let Err(violation) = checked {
                report.violation = Some(violation);
                break;
            }
        }
        if report.violation.is_none() {
            let finished = killer.finish(rng.bits())?;
            // If the last process gave up, other tasks were still about to end: only its report
            // names the stuck one.
            let (seen, checked) = audit(killer.folder, finished.is_ok())?;
            looked = seen;
            report.violation = first_broken(finished, checked);
            report.folders += 1;
        }
        report.tasks += looked.tasks as u64;
        report.operations += looked.operations as u64;
        report.evidence = report.violation.is_some().then_some(folder);
    }
    report.took = began.elapsed();
    Ok(report)
}

/// The broken promise, with all other evidence.
fn first_broken(finished: Checked, checked: Checked) -> Option<Violation> {
    match (finished, checked) {
        (Ok(()), checked) => checked.err(),
        (finished, Ok(())) => finished.err(),
        (Err(finished), Err(mut found)) => {
            found.detail = format!("{}\n  {}", found.detail, finished.detail);
            Some(found)
        }
    }
}

struct Killer<'a> {
    program: PathBuf,
    folder: &'a Path,
    bug: Option<PlantedBug>,
}

impl Killer<'_> {
    fn command(&self, seed: u64) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("child").arg(self.folder).arg("--seed").arg(seed.to_string());
        if let Some(bug) = self.bug {
            command.arg("--bug").arg(bug.word());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    fn start(&self, mut command: Command) -> Result<Child> {
        let program = self.program.display();
        command.spawn().with_context(|| format!("could not start {program}"))
    }

    /// Kills a process after its ledger has grown by this many lines.
    fn kill(&mut self, seed: u64, lines: usize) -> Result<()> {
        let mut command = self.command(seed);
        command.arg("--tell");
        let mut child = self.start(command)?;
        let out = child.stdout.take().context("the child has no output")?;
        let heard = BufReader::new(out).lines().take(lines + 1).count();
        child.kill().context("could not kill")?;
        let status = child.wait()?;
        ensure!(heard > lines, "the child ended by itself ({status}) instead of being killed");
        Ok(())
    }

    /// Has a process die at a commit.
    fn let_die(&mut self, seed: u64, at: u64, side: Side) -> Result<()> {
        let mut command = self.command(seed);
        let side = match side {
            Side::Before => "before",
            Side::After => "after",
        };
        command.arg("--die-at").arg(at.to_string()).arg("--side").arg(side);
        let status = self.start(command)?.wait()?;
        ensure!(status.code().is_none(), "the child ended by itself ({status})");
        Ok(())
    }

    /// Has a process bring every task to its end. Otherwise returns its report.
    fn finish(&mut self, seed: u64) -> Result<Checked> {
        let mut command = self.command(seed);
        command.arg("--finish").stderr(Stdio::piped());
        let ended = self.start(command)?.wait_with_output()?;
        if ended.status.success() {
            io::stderr().write_all(&ended.stderr)?;
            return Ok(Ok(()));
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let detail = format!("the last process failed ({}): {}", ended.status, said.trim());
        Ok(Err(Violation::new("all tasks end", detail)))
    }
}
