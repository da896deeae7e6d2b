//! The table at the end of a run.

use std::fmt;
use std::time::Duration;

/// The end of every stage of a run, in order. Its display is the table for people.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    entries: Vec<Entry>,
}

/// One line of the summary.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The stage's name.
    pub(crate) stage: &'static str,
    /// Its end.
    pub(crate) ending: Ending,
    /// Its duration.
    pub(crate) took: Duration,
}

/// The end of a stage.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It found nothing wrong.
    Passed,
    /// It could not run its check, for this reason.
    Skipped(&'static str),
    /// It found something wrong.
    Failed,
    /// An earlier stage failed first.
    NotRun,
}

impl Summary {
    /// Adds the next line.
    pub(crate) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Whether any stage has failed.
    pub(crate) fn has_failed(&self) -> bool {
        !self.failed().is_empty()
    }

    /// The names of the stages that have failed.
    pub(crate) fn failed(&self) -> Vec<&'static str> {
        self.entries
            .iter()
            .filter(|entry| entry.ending == Ending::Failed)
            .map(|entry| entry.stage)
            .collect()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "==> summary")?;
        for entry in &self.entries {
            writeln!(f, "    {entry}")?;
        }
        let total: Duration = self.entries.iter().map(|entry| entry.took).sum();
        write!(f, "    {:<12}{:>8.1} s", "total", total.as_secs_f64())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = match self.ending {
            Ending::NotRun => "-".to_owned(),
            _ => format!("{:.1} s", self.took.as_secs_f64()),
        };
        write!(f, "{:<12}{took:>10}  ", self.stage)?;
        match self.ending {
            Ending::Passed => write!(f, "passed"),
            Ending::Skipped(reason) => write!(f, "skipped: {reason}"),
            Ending::Failed => write!(f, "FAILED"),
            Ending::NotRun => write!(f, "not run"),
        }
    }
}
