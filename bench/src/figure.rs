//! A measured number, and the lines in which a child process passes it to its parent.

use crate::workload::Workload;

/// The metric of a number. A metric belongs to one workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`describe` says what each one is")]
pub enum Metric {
    Lifecycle,
    Spawn,
    NamedSpawn,
    Get,
    Page,
    Counts,
    FanCancel,
    ChainCancel,
    Messages,
    Wake,
    IdleBytes,
    Sequential,
    SequentialGrowth,
    DurableRate,
    VolatileRate,
    UnbatchedRate,
    WriterCpu,
    Open,
    Adjudication,
    StoredBytes,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time; less is better.
    Nanoseconds,
    /// Memory or disk; less is better.
    Bytes,
    /// Operations per second; more is better.
    PerSecond,
}

impl Metric {
    /// Every metric, in the order of the report.
    pub const ALL: [Self; 20] = [
        Self::Lifecycle,
        Self::Spawn,
        Self::NamedSpawn,
        Self::Get,
        Self::Page,
        Self::Counts,
        Self::FanCancel,
        Self::ChainCancel,
        Self::Messages,
        Self::Wake,
        Self::IdleBytes,
        Self::Sequential,
        Self::SequentialGrowth,
        Self::DurableRate,
        Self::VolatileRate,
        Self::UnbatchedRate,
        Self::WriterCpu,
        Self::Open,
        Self::Adjudication,
        Self::StoredBytes,
    ];

    /// The workload that yields it, its name between processes, its name for readers, its unit.
    fn describe(self) -> (Workload, &'static str, &'static str, Unit) {
        use Unit::{Bytes, Nanoseconds, PerSecond};
        use Workload::{D1, D2, D3, W1, W2, W3, W4, W5, W5Chain, W6, W7, W8, W9};
        match self {
            Self::Lifecycle => (W1, "lifecycle", "per task", Nanoseconds),
            Self::Spawn => (W2, "spawn", "spawn p50", Nanoseconds),
            Self::NamedSpawn => (W3, "named_spawn", "named spawn p50", Nanoseconds),
            Self::Get => (W4, "get", "get one", Nanoseconds),
            Self::Page => (W4, "page", "first page of 50", Nanoseconds),
            Self::Counts => (W4, "counts", "counts by state", Nanoseconds),
            Self::FanCancel => (W5, "fan_cancel", "cancel a fan", Nanoseconds),
            Self::ChainCancel => (W5Chain, "chain_cancel", "cancel a chain", Nanoseconds),
            Self::Messages => (W6, "messages", "messages", PerSecond),
            Self::Wake => (W7, "wake", "wake-up p50", Nanoseconds),
            Self::IdleBytes => (W8, "idle_bytes", "per idle task", Bytes),
            Self::Sequential => (W9, "sequential", "total time", Nanoseconds),
            Self::SequentialGrowth => (W9, "sequential_growth", "RSS growth", Bytes),
            Self::DurableRate => (D1, "durable_rate", "lifecycles, file", PerSecond),
            Self::VolatileRate => (D1, "volatile_rate", "lifecycles, `:memory:`", PerSecond),
            Self::UnbatchedRate => {
                (D1, "unbatched_rate", "lifecycles, one transaction per operation", PerSecond)
            }
            Self::WriterCpu => (D1, "writer_cpu", "writer CPU per lifecycle", Nanoseconds),
            Self::Open => (D2, "open", "until spawns are accepted", Nanoseconds),
            Self::Adjudication => (D2, "adjudication", "tasks adjudicated", PerSecond),
            Self::StoredBytes => (D3, "stored_bytes", "growth per finished task", Bytes),
        }
    }

    /// The workload that yields this metric.
    pub fn workload(self) -> Workload {
        self.describe().0
    }

    /// The name used between processes.
    pub fn id(self) -> &'static str {
        self.describe().1
    }

    /// The name used in the report.
    pub fn title(self) -> &'static str {
        self.describe().2
    }

    /// The kind of its values.
    pub fn unit(self) -> Unit {
        self.describe().3
    }

    /// The metrics that `workload` yields.
    pub fn of(workload: Workload) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |metric| metric.workload() == workload)
    }

    /// A measured value of this metric.
    pub fn is(self, value: f64) -> Figure {
        Figure { metric: self, value }
    }
}

impl Unit {
    /// Formats `value` for a reader, with about three digits.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => scaled(value, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs")], "ns"),
            Self::Bytes => scaled(value, &[(1e6, "MB")], "B"),
            Self::PerSecond => scaled(value, &[(1e6, "M/s"), (1e3, "k/s")], "/s"),
        }
    }
}

fn scaled(value: f64, steps: &[(f64, &str)], smallest: &str) -> String {
    for (size, name) in steps {
        if value.abs() >= *size {
            let value = value / size;
            let digits = if value.abs() >= 100.0 {
                0
            } else if value.abs() >= 10.0 {
                1
            } else {
                2
            };
            return format!("{value:.digits$} {name}");
        }
    }
    format!("{value:.0} {smallest}")
}

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The metric.
    pub metric: Metric,
    /// The value, in the metric's unit.
    pub value: f64,
}

/// The result of a cell inside its process.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ran.
    Figures(Vec<Figure>),
    /// The system has no such operation, with the reason for the report.
    NotOffered(String),
}

const NOT_OFFERED: &str = "not_offered";

impl Outcome {
    /// The system has no such operation.
    pub fn not_offered(why: &str) -> Self {
        Self::NotOffered(why.to_owned())
    }

    /// One line per figure, for the parent process.
    pub fn encode(&self) -> String {
        match self {
            Self::Figures(figures) => {
                figures.iter().map(|f| format!("{}\t{}\n", f.metric.id(), f.value)).collect()
            }
            Self::NotOffered(why) => format!("{NOT_OFFERED}\t{why}\n"),
        }
    }

    /// Reads the output of [`Outcome::encode`]. A line that is neither is an error: output of
    /// the measured code must not pass for a figure or hide one.
    pub fn decode(text: &str) -> Result<Self, String> {
        let mut figures = Vec::new();
        for line in text.lines() {
            let (id, value) =
                line.split_once('\t').ok_or_else(|| format!("unexpected output `{line}`"))?;
            if id == NOT_OFFERED {
                return Ok(Self::NotOffered(value.to_owned()));
            }
            let metric = Metric::ALL.into_iter().find(|metric| metric.id() == id);
            let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
            match (metric, value) {
                (Some(metric), Some(value)) => figures.push(metric.is(value)),
                _ => return Err(format!("unexpected output `{line}`")),
            }
        }
        if figures.is_empty() {
            return Err("no figures".to_owned());
        }
        Ok(Self::Figures(figures))
    }
}

impl From<Vec<Figure>> for Outcome {
    fn from(figures: Vec<Figure>) -> Self {
        Self::Figures(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_reads_back() {
        for outcome in [
            Outcome::Figures(vec![Metric::Get.is(12.5), Metric::Page.is(1e7)]),
            Outcome::not_offered("no such call"),
        ] {
            assert_eq!(Outcome::decode(&outcome.encode()), Ok(outcome));
        }
    }

    #[test]
    fn stray_output_is_an_error() {
        for text in ["", "hello\n", "get\tNaN\n", "get\t1\nwarning\t2\n"] {
            assert!(Outcome::decode(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn values_show_with_three_digits() {
        assert_eq!(Unit::Nanoseconds.show(359.6), "360 ns");
        assert_eq!(Unit::Nanoseconds.show(1_234.0), "1.23 µs");
        assert_eq!(Unit::Nanoseconds.show(488e6), "488 ms");
        assert_eq!(Unit::Bytes.show(2_113.0), "2113 B");
        assert_eq!(Unit::Bytes.show(164e6), "164 MB");
        assert_eq!(Unit::PerSecond.show(2_400_000.0), "2.40 M/s");
    }
}
