//! The figures measured so far.

use std::collections::BTreeMap;

use crate::figure::{Figure, Metric};
use crate::measure::median;
use crate::process::Gap;
use crate::workload::Workload;

/// The figures and gaps of a run, by system, workload and size.
#[derive(Debug, Default)]
pub struct Results {
    values: BTreeMap<(Metric, String, usize), Vec<f64>>,
    gaps: BTreeMap<(Workload, String, usize), Gap>,
}

impl Results {
    /// Adds the figures of one process of `system` at size `n`.
    pub fn add(&mut self, system: &str, n: usize, figures: &[Figure]) {
        for figure in figures {
            let key = (figure.metric, system.to_owned(), n);
            self.values.entry(key).or_default().push(figure.value);
        }
    }

    /// Records the reason that `system` has no figures for `workload` at size `n`.
    pub fn add_gap(&mut self, workload: Workload, system: &str, n: usize, gap: Gap) {
        self.gaps.insert((workload, system.to_owned(), n), gap);
    }

    /// The median over the runs.
    pub fn value(&self, metric: Metric, system: &str, n: usize) -> Option<f64> {
        let values = self.values.get(&(metric, system.to_owned(), n))?;
        Some(median(&mut values.clone()))
    }

    /// The largest run divided by the smallest, over all sizes: a measure of trust in the
    /// median.
    pub fn spread(&self, metric: Metric, system: &str) -> Option<f64> {
        self.values
            .iter()
            .filter(|((m, s, _), values)| *m == metric && s == system && values.len() > 1)
            .map(|(_, values)| {
                let largest = values.iter().copied().fold(f64::MIN, f64::max);
                let smallest = values.iter().copied().fold(f64::MAX, f64::min);
                largest / smallest
            })
            .filter(|spread| spread.is_finite() && *spread >= 1.0)
            .reduce(f64::max)
    }

    /// The reason that there are no figures, if it is known.
    pub fn gap(&self, workload: Workload, system: &str, n: usize) -> Option<&Gap> {
        self.gaps.get(&(workload, system.to_owned(), n))
    }

    /// The sizes with any result for `workload`, smallest first.
    pub fn sizes(&self, workload: Workload) -> Vec<usize> {
        let measured = self.values.keys().filter(|key| key.0.workload() == workload);
        let missing = self.gaps.keys().filter(|key| key.0 == workload);
        let mut sizes: Vec<usize> =
            measured.map(|key| key.2).chain(missing.map(|key| key.2)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Whether `system` has a value of `metric` at any size.
    pub fn has(&self, metric: Metric, system: &str) -> bool {
        self.values.keys().any(|key| key.0 == metric && key.1 == system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_run_counts_and_the_spread_shows_the_others() {
        let mut results = Results::default();
        for value in [10.0, 30.0, 12.0] {
            results.add("floor", 100, &[Metric::Get.is(value)]);
        }
        assert_eq!(results.value(Metric::Get, "floor", 100), Some(12.0));
        assert_eq!(results.spread(Metric::Get, "floor"), Some(3.0));
        assert_eq!(results.value(Metric::Get, "floor", 1_000), None);
    }

    #[test]
    fn sizes_include_those_without_figures() {
        let mut results = Results::default();
        results.add("floor", 1_000, &[Metric::Get.is(1.0)]);
        results.add_gap(Workload::W4, "koda", 100, Gap::TimedOut);
        assert_eq!(results.sizes(Workload::W4), [100, 1_000]);
        assert!(results.sizes(Workload::W1).is_empty());
    }
}
