//! The workloads, with their sizes and time limits.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The default sizes of a workload that scales.
pub const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// One operation of a runtime, measured at one or more sizes N.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    /// Spawn N tasks, let them complete, drain and acknowledge their results.
    W1,
    /// One spawn while N tasks are alive.
    W2,
    /// One named spawn while N named tasks are alive.
    W3,
    /// Look-ups while N tasks are alive.
    W4,
    /// Cancel a root with N children.
    W5,
    /// Cancel the top of a chain of N tasks, each the child of the one before.
    W5Chain,
    /// Messages to one task while N others are alive.
    W6,
    /// From a task's end until its waiter runs.
    W7,
    /// Memory of N idle tasks.
    W8,
    /// N tasks finished one after another.
    W9,
    /// SQLite: lifecycles per second with N concurrent callers.
    D1,
    /// SQLite: open a store with N unfinished tasks.
    D2,
    /// SQLite: database growth over N finished tasks.
    D3,
}

/// The executable with the code of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// This executable, for every system.
    Here,
    /// The executable named by `--durable`. It is a separate one because a SQLite library
    /// cannot be linked next to the one that a peer depends on.
    Durable,
}

impl Workload {
    /// Every workload, in the order of the report.
    pub const ALL: [Self; 13] = [
        Self::W1,
        Self::W2,
        Self::W3,
        Self::W4,
        Self::W5,
        Self::W5Chain,
        Self::W6,
        Self::W7,
        Self::W8,
        Self::W9,
        Self::D1,
        Self::D2,
        Self::D3,
    ];

    /// The short name used on the command line and between processes.
    pub fn id(self) -> &'static str {
        match self {
            Self::W1 => "w1",
            Self::W2 => "w2",
            Self::W3 => "w3",
            Self::W4 => "w4",
            Self::W5 => "w5",
            Self::W5Chain => "w5chain",
            Self::W6 => "w6",
            Self::W7 => "w7",
            Self::W8 => "w8",
            Self::W9 => "w9",
            Self::D1 => "d1",
            Self::D2 => "d2",
            Self::D3 => "d3",
        }
    }

    /// The workload in one line, with N spelled out.
    pub fn title(self) -> &'static str {
        match self {
            Self::W1 => "W1: spawn + complete + drain + ack of N tasks, per task",
            Self::W2 => "W2: one spawn while N tasks are alive",
            Self::W3 => "W3: one named spawn while N named tasks are alive",
            Self::W4 => "W4: get one, first page of 50, counts by state, with N tasks alive",
            Self::W5 => "W5: cancel a root with N children until all are terminal",
            Self::W5Chain => "W5: cancel a chain of N tasks until all are terminal",
            Self::W6 => "W6: messages to one task, counted when consumed, with N others alive",
            Self::W7 => "W7: completion until the waiter runs",
            Self::W8 => "W8: resident memory of N idle tasks",
            Self::W9 => "W9: N tasks finished one after another",
            Self::D1 => "D1: SQLite with fsync, spawn + settle + ack, N concurrent callers",
            Self::D2 => "D2: SQLite, open with N unfinished tasks among ten times as many",
            Self::D3 => "D3: SQLite, database growth over N finished tasks with an empty result",
        }
    }

    /// The name used by targets and readers; variants share one.
    pub fn label(self) -> &'static str {
        self.title().split(':').next().unwrap_or_default()
    }

    /// The sizes this workload runs at when `asked` is the request of the caller. A workload
    /// that is defined at one size always runs at that size.
    pub fn sizes(self, asked: &[usize]) -> Vec<usize> {
        match self {
            Self::W1 | Self::W2 | Self::W3 | Self::W4 | Self::W5 | Self::W8 | Self::W9 => {
                asked.to_vec()
            }
            Self::W5Chain | Self::W6 | Self::D1 => vec![1_000],
            Self::W7 => vec![1],
            Self::D2 => vec![100_000],
            Self::D3 => vec![10_000],
        }
    }

    /// The time limit after which a cell is killed.
    pub fn limit(self) -> Duration {
        match self {
            // The cell has to write the stored tasks before it can time the opening.
            Self::D2 => Duration::from_secs(300),
            // Every caller finishes a lifecycle even if each operation pays for an fsync.
            Self::D1 => Duration::from_secs(120),
            _ => Duration::from_secs(30),
        }
    }

    /// The executable that runs this workload.
    pub fn home(self) -> Home {
        match self {
            Self::D1 | Self::D2 | Self::D3 => Home::Durable,
            _ => Home::Here,
        }
    }

    /// The workloads that `name` selects: the one of that id and its variants, so that `w5`
    /// means the fan and the chain.
    pub fn selected_by(name: &str) -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|workload| match workload.id().strip_prefix(name) {
                Some(rest) => !name.is_empty() && !rest.starts_with(|c: char| c.is_ascii_digit()),
                None => false,
            })
            .collect()
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|workload| workload.id() == id)
            .ok_or_else(|| format!("unknown workload `{id}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_selects_its_variants_and_nothing_else() {
        assert_eq!(Workload::selected_by("w5"), [Workload::W5, Workload::W5Chain]);
        assert_eq!(Workload::selected_by("w1"), [Workload::W1]);
        assert_eq!(Workload::selected_by(""), []);
        assert_eq!(Workload::selected_by("w"), []);
        assert_eq!(Workload::selected_by("w42"), []);
    }

    #[test]
    fn ids_read_back() {
        for workload in Workload::ALL {
            assert_eq!(workload.id().parse(), Ok(workload));
        }
    }
}
