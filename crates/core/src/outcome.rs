//! How a task ended.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::payload::Payload;
use crate::state::State;

/// How a task ended, with what it leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The body returned a value.
    Completed {
        /// The value.
        value: Payload,
        /// Whether a cancel had been asked for before the value came.
        #[serde(default)]
        cancel_requested: bool,
    },
    /// The body returned an error, panicked or hit a limit.
    Failed(Failure),
    /// The body stopped because it was asked to, or was stopped.
    Cancelled {
        /// Who asked, and why.
        cancel: Cancel,
        /// Whether the body was aborted because it did not stop by itself.
        forced: bool,
    },
    /// The worker died and the task could not be taken up again.
    Lost {
        /// What is known about it.
        reason: String,
    },
}

impl Outcome {
    /// A value, with no cancel asked for.
    pub fn value(value: Payload) -> Self {
        Self::Completed { value, cancel_requested: false }
    }

    /// The state a task with this outcome ends in.
    pub fn state(&self) -> State {
        match self {
            Self::Completed { .. } => State::Completed,
            Self::Failed(_) => State::Failed,
            Self::Cancelled { .. } => State::Cancelled,
            Self::Lost { .. } => State::Lost,
        }
    }
}

/// Why a task failed: a kind to act on, a message, and every cause behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What sort of failure it is.
    pub kind: FailureKind,
    /// The outermost message.
    pub message: String,
    /// The messages of the causes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Where a panic happened, as `file:line:column`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// What sort of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The body returned an error.
    Error,
    /// The body panicked.
    Panic,
    /// The task ran longer than it may.
    Timeout,
    /// A budget was used up.
    Budget,
    /// The task's attempts ended without settling too many times.
    CrashLoop,
    /// The answer does not fit the schema it was asked for.
    InvalidResult,
    /// A command ended with this exit code.
    Exit(i32),
    /// A command was ended by this signal.
    Signal(i32),
    /// The value was larger than may be stored.
    TooLarge,
}

impl Failure {
    /// A failure of `kind` with a message and no cause.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), location: None }
    }

    /// A failure from an error and its whole cause chain.
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
        // A chain that loops or never ends must not take the runtime with it.
        const CHAIN_LIMIT: usize = 64;
        let causes = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| {
            (*cause).source()
        })
        .take(CHAIN_LIMIT)
        .map(ToString::to_string)
        .collect();
        Self { kind: FailureKind::Error, message: error.to_string(), causes, location: None }
    }
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
}
