//! The result of kills at every commit.

use std::fmt;
use std::time::Duration;

use tempfile::TempDir;

use crate::agents::audit::repeated;
use crate::agents::case::CaseResult;
use crate::agents::kill_point::KillPoint;
use crate::violation::Violation;

/// The result of kills at every commit.
#[derive(Debug, Default)]
pub struct SweepReport {
    /// The number of different commits.
    pub commits: usize,
    /// The runs in which the worker did not die as planned, because the commit did not occur
    /// again.
    pub missed: Vec<KillPoint>,
    /// The number of workers that died before a commit.
    pub before: u64,
    /// The number that died after one.
    pub after: u64,
    /// The number that died while an end was on its way.
    pub late: u64,
    /// The number of finished directories.
    pub folders: u64,
    /// The number of requests to the model.
    pub asked: u64,
    /// The repeated requests among them, because the answer was on its way when a worker died.
    pub repeated: u64,
    /// Calls of tools that the model was told have an unknown outcome.
    pub unknown: u64,
    /// The effects of the tools.
    pub effects: u64,
    /// The duration.
    pub took: Duration,
    /// The broken promise, if there is one, and the kill points of its workers.
    pub broken: Option<(Violation, Vec<KillPoint>)>,
    /// The directory that shows it. It is deleted with this value.
    pub evidence: Option<TempDir>,
}

impl SweepReport {
    /// The number of killed workers.
    pub fn kills(&self) -> u64 {
        self.before + self.after + self.late
    }

    /// Adds the counters of a directory whose workers died at these points.
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
