//! Many seeds, one after another.

use std::time::{Duration, Instant};

use crate::figures::Figures;
use crate::panics;
use crate::planted::PlantedBug;
use crate::simulate::{SimulationFailure, simulate};
use crate::trace::Trace;

/// The result of many seeds.
#[derive(Debug)]
pub struct SeedReport {
    /// The number of seeds run.
    pub seeds: u64,
    /// The counters of the runs.
    pub figures: Figures,
    /// The duration.
    pub took: Duration,
    /// The first failure.
    pub failed: Option<(u64, SimulationFailure)>,
}

/// Runs `count` seeds from `first` on, until one fails. Runs the failed seed again, so that its
/// failure comes with a trace.
pub fn live(first: u64, count: u64, bug: Option<PlantedBug>) -> SeedReport {
    panics::quiet();
    let began = Instant::now();
    let mut figures = Figures::default();
    for number in 0..count {
        let seed = first + number;
        let outcome = simulate(seed, bug, Trace::default());
        figures += outcome.figures;
        if let Some(failure) = outcome.failure {
            let again = simulate(seed, bug, Trace::kept()).failure;
            let failed = Some((seed, again.unwrap_or(failure)));
            return SeedReport { seeds: number + 1, figures, took: began.elapsed(), failed };
        }
    }
    SeedReport { seeds: count, figures, took: began.elapsed(), failed: None }
}

/// Runs `count` seeds and goes on after failures. Returns the number of failures for each
/// promise, and the first failure.
pub fn survey(first: u64, count: u64, bug: Option<PlantedBug>) -> Vec<(&'static str, u64, u64)> {
    panics::quiet();
    let mut broken: Vec<(&'static str, u64, u64)> = Vec::new();
    for seed in first..first + count {
        let Some(failure) = simulate(seed, bug, Trace::default()).failure else { continue };
        let invariant = failure.violation.invariant;
        match broken.iter_mut().find(|(known, ..)| *known == invariant) {
            Some((_, times, _)) => *times += 1,
            None => broken.push((invariant, 1, seed)),
        }
    }
    broken
}
