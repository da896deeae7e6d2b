//! Why a request was not done.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a request was not done: a code to act on, and words for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    /// What sort of fault.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What is behind it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What to do about it, unless the message says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What sort of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Code {
    /// No such task or session.
    NotFound,
    /// The handle means several tasks.
    Ambiguous,
    /// The name is not one.
    BadName,
    /// The name is taken.
    NameTaken,
    /// The task has ended.
    Ended,
    /// The owner takes no new tasks.
    OwnerClosed,
    /// Somebody has answered before, or nobody needs the answer any more.
    Answered,
    /// It is not for processes of tasks.
    NotAPerson,
    /// The session has live tasks.
    Busy,
    /// A cap is reached.
    Cap,
    /// The task takes no messages.
    TakesNoMessages,
    /// The task's input has been ended: it reads no more messages.
    InputEnded,
    /// Something is too large.
    TooLarge,
    /// An inbox is full: try again when some of it has been read.
    Full,
    /// The request makes no sense.
    BadRequest,
    /// The data folder is held by another process.
    Locked,
    /// The data folder cannot be used.
    Store,
    /// The daemon is ending; ask the next one.
    Closing,
    /// The client and the daemon have no protocol in common.
    Wire,
    /// Anything else.
    Other,
}

impl WireError {
    /// A fault with a message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), causes: Vec::new(), hint: None }
    }

    /// A fault from an error and everything behind it.
    pub fn from_error(code: Code, error: &dyn std::error::Error) -> Self {
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        let causes = causes.take(16).map(ToString::to_string).collect();
        Self { causes, ..Self::new(code, error.to_string()) }
    }

    /// This fault, with what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for WireError {}
