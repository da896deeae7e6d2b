//! The targets. `must` is a condition of success; `goal` is the aim beyond it.

use crate::figure::Metric;
use crate::systems::FLOOR;
use crate::workload::SIZES;

/// One promise about one metric of the subject.
#[derive(Debug)]
pub struct Target {
    /// The metric of the promise.
    pub metric: Metric,
    /// The value it is compared with.
    pub against: Against,
    /// The sizes at which the promise holds.
    pub at: &'static [usize],
    /// The required limit.
    pub must: Bound,
    /// The desired limit, if it is stricter.
    pub goal: Option<Bound>,
}

/// The value with which a metric of the subject is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The same metric of another system in the same run.
    System(&'static str),
    /// Another metric of the subject, at the same size.
    Metric(Metric),
    /// The same metric at the smallest size, while this one is at the largest.
    Growth,
    /// None: the value itself is judged.
    Itself,
}

/// A limit for a value or a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This or less.
    AtMost(f64),
    /// Less than this.
    Below(f64),
    /// This or more.
    AtLeast(f64),
}

impl Bound {
    /// Whether `value` is within the limit.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::Below(limit) => value < limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

const LARGEST: &[usize] = &[100_000];
const A_THOUSAND: &[usize] = &[1_000];
const ONE: &[usize] = &[1];

/// "Flat in N" leaves the room that a spawn gets for colder caches.
const FLAT: (Bound, Bound) = (Bound::AtMost(2.5), Bound::AtMost(1.5));

const fn target(
    metric: Metric,
    against: Against,
    at: &'static [usize],
    (must, goal): (Bound, Option<Bound>),
) -> Target {
    Target { metric, against, at, must, goal }
}

const fn at_most(must: f64, goal: f64) -> (Bound, Option<Bound>) {
    (Bound::AtMost(must), Some(Bound::AtMost(goal)))
}

const fn at_least(must: f64, goal: f64) -> (Bound, Option<Bound>) {
    (Bound::AtLeast(must), Some(Bound::AtLeast(goal)))
}

const fn flat() -> (Bound, Option<Bound>) {
    (FLAT.0, Some(FLAT.1))
}

const AHEAD: (Bound, Option<Bound>) = (Bound::Below(1.0), None);

/// Every promise, in the order of the report.
pub const ALL: &[Target] = &[
    target(Metric::Lifecycle, Against::System(FLOOR), &SIZES, at_most(4.0, 2.0)),
    target(Metric::Lifecycle, Against::System("awaken"), &SIZES, AHEAD),
    target(Metric::Lifecycle, Against::System("defect"), &SIZES, AHEAD),
    target(
        Metric::Lifecycle,
        Against::System("koda"),
        &SIZES,
        (Bound::AtMost(1.5), Some(Bound::Below(1.0))),
    ),
    target(Metric::Spawn, Against::System(FLOOR), &SIZES, at_most(4.0, 2.0)),
    target(Metric::Spawn, Against::Growth, LARGEST, at_most(2.5, 1.5)),
    target(Metric::NamedSpawn, Against::Metric(Metric::Spawn), &SIZES, at_most(2.0, 1.3)),
    target(Metric::Get, Against::System(FLOOR), &SIZES, at_most(3.0, 2.0)),
    target(Metric::Page, Against::Growth, LARGEST, flat()),
    target(Metric::Counts, Against::Growth, LARGEST, flat()),
    target(Metric::FanCancel, Against::System(FLOOR), &SIZES, at_most(4.0, 2.0)),
    target(Metric::ChainCancel, Against::System(FLOOR), A_THOUSAND, at_most(4.0, 2.0)),
    target(Metric::Messages, Against::Itself, A_THOUSAND, at_least(1e6, 3e6)),
    target(Metric::Wake, Against::System(FLOOR), ONE, at_most(4.0, 2.0)),
    target(Metric::IdleBytes, Against::Itself, LARGEST, at_most(1_200.0, 900.0)),
    target(Metric::Sequential, Against::System(FLOOR), LARGEST, at_most(4.0, 2.0)),
    target(Metric::SequentialGrowth, Against::Itself, LARGEST, (Bound::AtMost(2e6), None)),
    target(
        Metric::DurableRate,
        Against::Metric(Metric::VolatileRate),
        A_THOUSAND,
        at_least(0.4, 0.6),
    ),
    target(
        Metric::DurableRate,
        Against::Metric(Metric::UnbatchedRate),
        A_THOUSAND,
        (Bound::AtLeast(20.0), None),
    ),
    target(Metric::WriterCpu, Against::Itself, A_THOUSAND, at_most(35_000.0, 25_000.0)),
    target(Metric::Open, Against::Itself, LARGEST, at_most(1e9, 0.5e9)),
    target(Metric::Adjudication, Against::Itself, LARGEST, (Bound::AtLeast(10_000.0), None)),
    target(Metric::StoredBytes, Against::Itself, &[10_000], at_most(1_024.0, 600.0)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_at_least_as_strict_as_its_must() {
        for target in ALL {
            match (target.must, target.goal) {
                (Bound::AtMost(must), Some(Bound::AtMost(goal) | Bound::Below(goal))) => {
                    assert!(goal <= must, "{target:?}");
                }
                (Bound::AtLeast(must), Some(Bound::AtLeast(goal))) => {
                    assert!(goal >= must, "{target:?}");
                }
                (_, None) => {}
                _ => panic!("must and goal point different ways: {target:?}"),
            }
        }
    }

    #[test]
    fn every_promise_is_about_a_size_that_is_measured() {
        for target in ALL {
            let sizes = target.metric.workload().sizes(&SIZES);
            assert!(target.at.iter().all(|n| sizes.contains(n)), "{target:?}");
        }
    }
}
