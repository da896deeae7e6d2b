//! Every point at which a worker can die, one after another.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use offshoot_wiretest::Language;
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use crate::agents::audit::Original;
use crate::agents::case::Case;
use crate::agents::point::Point;
use crate::agents::toll::Toll;
use crate::planted::Bug;
use crate::rng::Rng;

/// How many folders are under way at once. Their workers wait much of their
/// time: for the disk, and for the model.
const LANES: usize = 4;

/// Which points are tried.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What is killed.
    pub program: PathBuf,
    /// The bug in the workers' stores, if there is one.
    pub bug: Option<Bug>,
    /// Of how many commits one is tried; all of them if it is 1.
    pub every: u64,
    /// How many folders lose two workers, the second while it takes up the
    /// work of the first.
    pub pairs: u64,
    /// What those are drawn from.
    pub seed: u64,
}

/// What the threads of a sweep share.
struct Ground<'a> {
    sweep: &'a Sweep,
    executor: Runtime,
    /// For each language.
    originals: Vec<Original>,
    toll: Mutex<Toll>,
    over: AtomicBool,
}

/// Kills at every point, until there is none after it or a promise is broken.
pub fn run(sweep: &Sweep) -> Result<Toll> {
    let began = Instant::now();
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("no executor")?;
    let mut ground = Ground {
        sweep,
        executor,
        originals: Vec::new(),
        toll: Mutex::default(),
        over: AtomicBool::new(false),
    };
    ground.originals = ground.live_undisturbed()?;
    // Ends first: there are few of them.
    ground.go_through(Point::Late, (1, 1))?;
    let (every, shared) = (sweep.every, &ground);
    let lanes: [(fn(u64) -> Point, u64); LANES] = [
        (Point::Before, 1),
        (Point::After, 1),
        (Point::Before, 1 + every),
        (Point::After, 1 + every),
    ];
    in_lanes(lanes, |(side, first)| shared.go_through(side, (first, 2 * every)))?;
    let pairs = shared.draw_pairs();
    in_lanes(std::array::from_fn(|lane: usize| lane), |lane| {
        pairs.iter().enumerate().skip(lane).step_by(LANES).try_for_each(|(number, points)| {
            match shared.over.load(Ordering::SeqCst) {
                true => Ok(()),
                false => shared.try_at(points, number as u64).map(drop),
            }
        })
    })?;
    let mut toll = ground.toll.into_inner();
    toll.took = began.elapsed();
    Ok(toll)
}

/// Has a thread at work on each of these.
fn in_lanes<T: Send>(lanes: [T; LANES], work: impl Fn(T) -> Result<()> + Sync) -> Result<()> {
    let work = &work;
    thread::scope(|scope| {
        let threads = lanes.map(|lane| scope.spawn(move || work(lane)));
        let ended = threads.map(|thread| {
            thread.join().unwrap_or_else(|_| bail!("a thread of the harness panicked"))
        });
        ended.into_iter().collect()
    })
}

impl Ground<'_> {
    fn case(&self, language: Language) -> Case<'_> {
        let Sweep { program, bug, .. } = self.sweep;
        Case { program, executor: &self.executor, language, bug: *bug }
    }

    /// What a life without a crash leaves, in each language.
    fn live_undisturbed(&self) -> Result<Vec<Original>> {
        let originals = Language::ALL.map(|language| {
            let played = self.case(language).play(&[], None)?;
            if let Some(violation) = played.violation {
                bail!("a life without a crash breaks a promise: {violation}");
            }
            Ok(Original::of(&played.evidence))
        });
        originals.into_iter().collect()
    }

    /// Has workers die at these points; how many did.
    fn try_at(&self, points: &[Point], number: u64) -> Result<usize> {
        let at = usize::try_from(number)? % Language::ALL.len();
        let played = self.case(Language::ALL[at]).play(points, Some(&self.originals[at]))?;
        let (kills, broken) = (played.kills, played.violation.is_some());
        self.toll.lock().count(points, played);
        if broken {
            self.over.store(true, Ordering::SeqCst);
        }
        Ok(kills)
    }

    /// Tries one point after another, until nobody gets there any more.
    fn go_through(&self, side: fn(u64) -> Point, (first, every): (u64, u64)) -> Result<()> {
        let mut number = first;
        while !self.over.load(Ordering::SeqCst) {
            let kills = self.try_at(&[side(number)], number)?;
            let over = self.over.load(Ordering::SeqCst);
            ensure!(kills > 0 || number > 1 || over, "the first commit is never made");
            if kills == 0 {
                return Ok(());
            }
            number += every;
        }
        Ok(())
    }

    /// Pairs of points at which two workers die, one after the other.
    fn draw_pairs(&self) -> Vec<[Point; 2]> {
        let mut rng = Rng::new(self.sweep.seed);
        let commits = usize::try_from(self.toll.lock().commits).unwrap_or(1).max(1);
        let mut draw = |_| {
            [(); 2].map(|()| {
                let at = rng.between(1, commits) as u64;
                if rng.happens(500) { Point::Before(at) } else { Point::After(at) }
            })
        };
        (0..self.sweep.pairs).map(&mut draw).collect()
    }
}
