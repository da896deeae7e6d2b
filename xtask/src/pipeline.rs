//! Runs stages one after another and summarises their ends.

mod summary;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use crate::repository::Repository;
use crate::stage::{Stage, Verdict};

pub(crate) use summary::{Ending, Entry, Summary};

/// The treatment of the remaining stages after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// They do not run.
    Stop,
    /// They run as usual.
    KeepGoing,
}

/// Runs the stages in the order given.
pub(crate) fn run(stages: &[&Stage], on_failure: OnFailure, repository: &Repository) -> Summary {
    let mut summary = Summary::default();
    for (index, stage) in stages.iter().enumerate() {
        let (ending, took) = if summary.has_failed() && on_failure == OnFailure::Stop {
            (Ending::NotRun, Duration::ZERO)
        } else {
            let position = format!("{}/{}", index + 1, stages.len());
            println!("\n==> {} ({position}): {}", stage.name, stage.about);
            attempt(stage, repository)
        };
        summary.add(Entry { stage: stage.name, ending, took });
    }
    summary
}

fn attempt(stage: &Stage, repository: &Repository) -> (Ending, Duration) {
    let start = Instant::now();
    let ending = match (stage.run)(repository) {
        Ok(Verdict::Passed) => Ending::Passed,
        Ok(Verdict::Skipped(reason)) => {
            println!("    skipped: {reason}");
            Ending::Skipped(reason)
        }
        Err(error) => {
            println!("    FAILED: {error:#}");
            Ending::Failed
        }
    };
    (ending, start.elapsed())
}
