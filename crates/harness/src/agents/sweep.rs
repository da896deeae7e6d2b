//! Every point at which a worker can die, one after another.

use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use offshoot_wiretest::WireProtocol;
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use crate::agents::audit::Original;
use crate::agents::case::Case;
use crate::agents::kill_point::{CommitRef, KillPoint};
use crate::agents::report::SweepReport;
use crate::agents::work::{Errand, Work};
use crate::planted::PlantedBug;
use crate::rng::Rng;

/// The number of concurrent directories. Their workers spend much of their time waiting for the
/// disk and the model.
const LANES: usize = 4;

/// The points to try.
#[derive(Clone, Debug)]
pub struct KillSweep {
    /// The program that is killed.
    pub program: PathBuf,
    /// The bug in the workers' stores, if there is one.
    pub bug: Option<PlantedBug>,
    /// One of this many commits is tried; all of them if it is 1.
    pub every: usize,
    /// The number of directories that lose two workers, the second while it resumes the work of
    /// the first.
    pub pairs: usize,
    /// The seed of those pairs.
    pub seed: u64,
    /// The points of the only directory for each protocol; every point is tried if there is
    /// none.
    pub at: Vec<KillPoint>,
}

/// The state that the threads of a sweep share.
struct SweepDirs<'a> {
    sweep: &'a KillSweep,
    executor: Runtime,
    /// One entry for each protocol.
    originals: Vec<Original>,
    report: Mutex<SweepReport>,
    work: Work,
}

/// Kills at every point, until all were tried or a promise is broken.
pub fn run(sweep: &KillSweep) -> Result<SweepReport> {
    let began = Instant::now();
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("no executor")?;
    let (originals, report) = (Vec::new(), Mutex::default());
    let mut dirs = SweepDirs { sweep, executor, originals, report, work: Work::new(sweep.every) };
    dirs.originals = dirs.live_undisturbed()?;
    if sweep.at.is_empty() {
        dirs.go_through_ends()?;
        dirs.in_lanes()?;
        dirs.draw_pairs();
        dirs.in_lanes()?;
    } else {
        for number in 0..WireProtocol::ALL.len() {
            dirs.try_at(&Errand { number, points: sweep.at.clone(), tries: 0 })?;
        }
    }
    let mut report = dirs.report.into_inner();
    report.commits = dirs.work.known();
    report.took = began.elapsed();
    Ok(report)
}

impl SweepDirs<'_> {
    fn case(&self, language: WireProtocol) -> Case<'_> {
        let KillSweep { program, bug, .. } = self.sweep;
        Case { program, executor: &self.executor, language, bug: *bug }
    }

    /// The result of a run without a crash, in each protocol.
    fn live_undisturbed(&self) -> Result<Vec<Original>> {
        let originals = WireProtocol::ALL.map(|language| {
            let played = self.case(language).play(&[], None)?;
            if let Some(violation) = played.violation {
                bail!("a life without a crash breaks a promise: {violation}");
            }
            self.work.found(&played.commits);
            Ok(Original::of(&played.evidence))
        });
        originals.into_iter().collect()
    }

    /// Has workers die at these points. Returns the number that did.
    fn try_at(&self, errand: &Errand) -> Result<usize> {
        let at = errand.number % WireProtocol::ALL.len();
        let case = self.case(WireProtocol::ALL[at]);
        let played = case.play(&errand.points, Some(&self.originals[at]))?;
        let kills = played.kills;
        if played.violation.is_some() {
            self.work.end();
        }
        self.work.found(&played.commits);
        self.report.lock().count(&errand.points, played);
        Ok(kills)
    }

    /// The late ends come first: there are few of them.
    fn go_through_ends(&self) -> Result<()> {
        for number in 1.. {
            let points = vec![KillPoint::Late(number as u64)];
            let kills = self.try_at(&Errand { number, points, tries: 0 })?;
            if kills == 0 || self.work.is_over() {
                ensure!(number > 1 || self.work.is_over(), "no worker ends");
                break;
            }
        }
        Ok(())
    }

    /// Runs threads until no work is left.
    fn in_lanes(&self) -> Result<()> {
        thread::scope(|scope| {
            let threads = [(); LANES].map(|()| scope.spawn(|| self.do_all()));
            let ended = threads.map(|thread| {
                thread.join().unwrap_or_else(|_| bail!("a thread of the harness panicked"))
            });
            ended.into_iter().collect()
        })
    }

    fn do_all(&self) -> Result<()> {
        while let Some(errand) = self.work.take() {
            let tried = self.try_at(&errand);
            let missed = matches!(tried, Ok(0)).then_some(errand);
            if let Some(given_up) = self.work.done(missed) {
                self.report.lock().missed.extend(given_up.points);
            }
            tried?;
        }
        Ok(())
    }

    /// Pairs of points at which two workers die, one after the other.
    fn draw_pairs(&self) {
        let mut rng = Rng::new(self.sweep.seed);
        let commits = self.work.known().max(1);
        for number in 0..self.sweep.pairs {
            let points = [(); 2].map(|()| {
                let which = CommitRef::Number(rng.between(1, commits) as u64);
                if rng.happens(500) { KillPoint::Before(which) } else { KillPoint::After(which) }
            });
            self.work.add(Errand { number, points: points.into(), tries: 0 });
        }
    }
}
