//! What killing at every commit came to.

use std::fmt;
use std::time::Duration;

use tempfile::TempDir;

use crate::agents::audit::repeated;
use crate::agents::case::CaseResult;
use crate::agents::kill_point::KillPoint;
use crate::violation::Violation;

/// What killing at every commit came to.
#[derive(Debug, Default)]
pub struct SweepReport {
    /// How many different commits there were.
    pub commits: usize,
    /// Where the worker did not die as planned, because the commit was not made
    /// again.
    pub missed: Vec<KillPoint>,
    /// How many workers died before a commit.
    pub before: u64,
    /// How many died after one.
    pub after: u64,
    /// How many died while an end was on its way.
    pub late: u64,
    /// How many folders were brought to their end.
    pub folders: u64,
    /// What the model was asked.
    pub asked: u64,
    /// How much of that again, because the answer was on its way when a worker
    /// died.
    pub repeated: u64,
    /// Calls of tools of which the model was told that it is unknown whether
    /// they were made.
    pub unknown: u64,
    /// What the tools have done.
    pub effects: u64,
    /// How long it took.
    pub took: Duration,
    /// What is broken, if anything is, and where the workers had died.
    pub broken: Option<(Violation, Vec<KillPoint>)>,
    /// The folder in which it shows. It is deleted with this.
    pub evidence: Option<TempDir>,
}

impl SweepReport {
    /// How many workers were killed.
    pub fn kills(&self) -> u64 {
        self.before + self.after + self.late
    }

    /// Counts a folder whose workers died at these points.
    pub fn count(&mut self, points: &[KillPoint], played: CaseResult) {
        for point in &points[..played.kills] {
            match point {
                KillPoint::Before(_) => self.before += 1,
                KillPoint::After(_) => self.after += 1,
                KillPoint::Late(_) => self.late += 1,
            }
        }
        let evidence = &played.evidence;
        self.folders += 1;
        self.asked += evidence.asked.len() as u64;
        self.repeated += repeated(evidence) as u64;
        self.unknown += evidence.kills.iter().map(|books| books.begun.len() as u64).sum::<u64>();
        self.effects += evidence.effects.len() as u64;
        if let Some(violation) = played.violation
            && self.broken.is_none()
        {
            self.broken = Some((violation, points.to_vec()));
            self.evidence = Some(played.folder);
        }
    }
}

impl fmt::Display for SweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} commit points, {} kills ({} before a commit, {} after one, {} with an end on its \
             way; {} points were not met again) in {:.1} s: {} folders, {} model calls of which {} were in flight at a kill and \
             repeated, {} tool effects, {} outcomes unknown",
            self.commits,
            self.kills(),
            self.before,
            self.after,
            self.late,
            self.missed.len(),
            self.took.as_secs_f64(),
            self.folders,
            self.asked,
            self.repeated,
            self.effects,
            self.unknown
        )
    }
}
