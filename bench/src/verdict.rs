//! The comparison of the results with a target.

use crate::process::Gap;
use crate::results::Results;
use crate::systems::SUBJECT;
use crate::targets::{Against, Bound, Target};
use crate::workload::SIZES;

/// The verdict of a run about one target.
#[derive(Debug, PartialEq)]
pub struct Finding {
    /// The compared value at each size the target names.
    pub points: Vec<(usize, Point)>,
    /// Whether the required limit is met.
    pub must: Verdict,
    /// Whether the desired limit is met; `None` without one.
    pub goal: Option<Verdict>,
}

/// The compared value at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Point {
    /// The value or ratio.
    Measured(f64),
    /// The subject finished and the other system did not, which is the best possible result.
    OtherDidNotFinish,
    /// This run has no value.
    Missing,
}

/// Whether a limit is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// At every size the target names.
    Met,
    /// At every measured size, but some sizes were not measured.
    MetSoFar,
    /// At some size it is not.
    NotMet,
    /// No size was measured.
    NotMeasured,
}

impl Verdict {
    /// The verdict for a reader.
    pub fn show(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::MetSoFar => "met so far",
            Self::NotMet => "**not met**",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Judges `results` by `target`.
pub fn judge(target: &Target, results: &Results) -> Finding {
    let points: Vec<(usize, Point)> =
        target.at.iter().map(|&n| (n, point(target, n, results))).collect();
    Finding {
        must: decide(target.must, &points),
        goal: target.goal.map(|goal| decide(goal, &points)),
        points,
    }
}

fn point(target: &Target, n: usize, results: &Results) -> Point {
    let Some(ours) = results.value(target.metric, SUBJECT, n) else {
        return Point::Missing;
    };
    let other = match target.against {
        Against::Itself => return Point::Measured(ours),
        Against::System(system) => {
            let gap = results.gap(target.metric.workload(), system, n);
            match results.value(target.metric, system, n) {
                Some(value) => Some(value),
                None if matches!(gap, Some(Gap::TimedOut | Gap::Skipped)) => {
                    return Point::OtherDidNotFinish;
                }
                None => None,
            }
        }
        Against::Metric(metric) => results.value(metric, SUBJECT, n),
        Against::Growth => results.value(target.metric, SUBJECT, SIZES[0]),
    };
    match other.and_then(|other| ratio(ours, other)) {
        Some(ratio) => Point::Measured(ratio),
        None => Point::Missing,
    }
}

/// `value` divided by `by`, if the ratio is meaningful.
pub fn ratio(value: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| value / by).filter(|ratio| ratio.is_finite())
}

fn decide(bound: Bound, points: &[(usize, Point)]) -> Verdict {
    let (mut kept, mut missing) = (false, false);
    for (_, point) in points {
        match point {
            Point::Measured(value) if !bound.holds(*value) => return Verdict::NotMet,
            Point::Measured(_) | Point::OtherDidNotFinish => kept = true,
            Point::Missing => missing = true,
        }
    }
    match (kept, missing) {
        (true, false) => Verdict::Met,
        (true, true) => Verdict::MetSoFar,
        (false, _) => Verdict::NotMeasured,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Metric;
    use crate::systems::FLOOR;
    use crate::workload::Workload;

    const AGAINST_FLOOR: Target = Target {
        metric: Metric::Lifecycle,
        against: Against::System(FLOOR),
        at: &[100, 1_000],
        must: Bound::AtMost(4.0),
        goal: Some(Bound::AtMost(2.0)),
    };

    fn results(values: &[(&str, usize, f64)]) -> Results {
        let mut results = Results::default();
        for (system, n, value) in values {
            results.add(system, *n, &[Metric::Lifecycle.is(*value)]);
        }
        results
    }

    #[test]
    fn a_bound_kept_at_every_size_is_met() {
        let results = results(&[
            (SUBJECT, 100, 30.0),
            (FLOOR, 100, 10.0),
            (SUBJECT, 1_000, 15.0),
            (FLOOR, 1_000, 10.0),
        ]);
        let finding = judge(&AGAINST_FLOOR, &results);
        assert_eq!(finding.points, [(100, Point::Measured(3.0)), (1_000, Point::Measured(1.5))]);
        assert_eq!(finding.must, Verdict::Met);
        assert_eq!(finding.goal, Some(Verdict::NotMet));
    }

    #[test]
    fn a_size_that_was_not_measured_leaves_the_verdict_open() {
        let some = results(&[(SUBJECT, 100, 30.0), (FLOOR, 100, 10.0)]);
        assert_eq!(judge(&AGAINST_FLOOR, &some).must, Verdict::MetSoFar);
        assert_eq!(judge(&AGAINST_FLOOR, &Results::default()).must, Verdict::NotMeasured);
    }

    #[test]
    fn a_peer_that_does_not_finish_is_behind() {
        let ahead = Target {
            against: Against::System("awaken"),
            at: &[100],
            must: Bound::Below(1.0),
            goal: None,
            ..AGAINST_FLOOR
        };
        let mut results = results(&[(SUBJECT, 100, 30.0)]);
        assert_eq!(judge(&ahead, &results).must, Verdict::NotMeasured);
        results.add_gap(Workload::W1, "awaken", 100, Gap::TimedOut);
        assert_eq!(judge(&ahead, &results).must, Verdict::Met);
    }

    #[test]
    fn growth_compares_with_the_smallest_size() {
        let growth = Target { against: Against::Growth, at: &[100_000], ..AGAINST_FLOOR };
        let results = results(&[(SUBJECT, 100, 10.0), (SUBJECT, 100_000, 50.0)]);
        let finding = judge(&growth, &results);
        assert_eq!(finding.points, [(100_000, Point::Measured(5.0))]);
        assert_eq!(finding.must, Verdict::NotMet);
    }
}
