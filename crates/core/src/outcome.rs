//! The outcome of a task.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::payload::Payload;
use crate::state::TaskState;
use crate::text;

/// The maximum number of causes in a failure.
const CAUSES: usize = 64;

/// The maximum number of further causes that are counted. It bounds cause chains that loop.
const COUNTED: usize = 10_000;

/// The end of a task, with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The body returned a value.
    Completed {
        /// The value.
        value: Payload,
        /// Whether a cancel was requested before the body returned.
        #[serde(default)]
        cancel_requested: bool,
    },
    /// The body returned an error, panicked or hit a limit.
    Failed(Box<Failure>),
    /// The body stopped on request or was aborted.
    Cancelled {
        /// The canceller and the reason.
        cancel: Arc<Cancel>,
        /// Whether the body was aborted because it did not stop in time.
        forced: bool,
    },
    /// The worker died and the task could not be restarted.
    Lost {
        /// The known facts about it.
        reason: String,
    },
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl Outcome {
    /// A completed outcome without a cancel request.
    pub fn value(value: Payload) -> Self {
        Self::Completed { value, cancel_requested: false }
    }

    /// The final state of a task with this outcome.
    pub fn state(&self) -> TaskState {
        match self {
            Self::Completed { .. } => TaskState::Completed,
            Self::Failed(_) => TaskState::Failed,
            Self::Cancelled { .. } => TaskState::Cancelled,
            Self::Lost { .. } => TaskState::Lost,
        }
    }
}

/// Why a task failed: a kind to act on, a message and the chain of causes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The outermost message.
    pub message: String,
    /// The messages of the causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The place of a panic, as `file:line:column`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The body returned an error.
    Error,
    /// The body panicked.
    Panic,
    /// The task exceeded its timeout.
    Timeout,
    /// A budget was exhausted.
    Budget,
    /// Too many attempts crashed in a row.
    CrashLoop,
    /// The answer does not match the requested schema.
    InvalidResult,
    /// A command exited with this code.
    Exit(i32),
    /// A command was killed by this signal.
    Signal(i32),
    /// The value exceeded the size limit.
    TooLarge,
}

impl Failure {
    /// A failure with `kind`, a message and no causes.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), location: None }
    }

    /// A failure from an error and its chain of causes.
    ///
    /// ```
    /// use offshoot_core::{Failure, FailureKind};
    ///
    /// let error = std::io::Error::other("disk on fire");
    /// let failure = Failure::from_error(&error);
    /// assert_eq!(failure.kind, FailureKind::Error);
    /// assert_eq!(failure.message, "disk on fire");
    /// ```
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        let mut chain = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| {
            (*cause).source()
        });
        let mut causes: Vec<_> = chain.by_ref().take(CAUSES).map(ToString::to_string).collect();
        causes.extend(more_causes(chain.take(COUNTED).count()));
        Self { kind: FailureKind::Error, message: error.to_string(), causes, location: None }
    }

    /// Cuts every text to `bytes` and the causes to the maximum number. The cut parts are
    /// counted.
    pub fn bounded(mut self, bytes: usize) -> Self {
        // The last one may be the line that counts the rest.
        if self.causes.len() > CAUSES + 1 {
            let more = self.causes.len() - CAUSES;
            self.causes.truncate(CAUSES);
            self.causes.extend(more_causes(more));
        }
        let texts = self.causes.iter_mut().chain([&mut self.message]).chain(&mut self.location);
        for text in texts.filter(|text| text.len() > bytes) {
            *text = text::fit(text, bytes).into_owned();
        }
        self
    }
}

fn more_causes(more: usize) -> Option<String> {
    (more > 0).then(|| format!("…(+{more} more causes)"))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for cause in &self.causes {
            write!(f, ": {cause}")?;
        }
        if let Some(location) = &self.location {
            write!(f, " (at {location})")?;
        }
        Ok(())
    }
}

impl Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn s2_7_a_failure_carries_the_whole_cause_chain() {
        let failure = Failure::from_error(&Outer(std::io::Error::other("inner")));
        assert_eq!(failure.message, "outer");
        assert_eq!(failure.causes, ["inner"]);
        assert_eq!(failure.to_string(), "outer: inner");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("cause {at}")]
    struct Link {
        at: usize,
        #[source]
        next: Option<Box<Link>>,
    }

    fn chain(causes: usize) -> Link {
        let link = |next, at| Some(Box::new(Link { at, next }));
        Link { at: 0, next: (1..=causes).rev().fold(None, link) }
    }

    #[test]
    fn s2_7_causes_past_the_kept_ones_are_counted() {
        assert_eq!(Failure::from_error(&chain(64)).causes.len(), 64);
        let failure = Failure::from_error(&chain(70));
        assert_eq!(failure.causes.last().unwrap(), "…(+6 more causes)");
        assert_eq!(failure.clone().bounded(100), failure);
        let made = Failure { causes: vec!["c".into(); 70], ..failure };
        let made = made.bounded(100);
        assert_eq!((made.causes.len(), made.causes[64].as_str()), (65, "…(+6 more causes)"));
    }

    #[test]
    fn s8_5_the_texts_of_a_failure_are_cut_and_counted() {
        let failure = Failure {
            kind: FailureKind::Panic,
            message: "é".repeat(10),
            causes: vec!["short".into(), "x".repeat(20)],
            location: None,
        };
        let cut = failure.bounded(7);
        assert_eq!(cut.message, "ééé …(+7 more chars)");
        assert_eq!(cut.causes, ["short", "xxxxxxx …(+13 more chars)"]);
    }
}
