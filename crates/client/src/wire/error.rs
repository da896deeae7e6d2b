//! The error reply of the daemon.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The error of a request: a code for programs, and text for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireError {
    /// The sort of error.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// The causes, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What to do about it, if the message does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The sort of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Code {
    /// No such task or session.
    NotFound,
    /// The name fits several tasks.
    Ambiguous,
    /// The name is malformed.
    BadName,
    /// The name is taken.
    NameTaken,
    /// The task has ended.
    Ended,
    /// The owner takes no new tasks.
    OwnerClosed,
    /// The question is closed: another answer came first, or it was withdrawn.
    Answered,
    /// Only a person may make this request, and a process of a task made it.
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
    /// Another process holds the data directory.
    Locked,
    /// The data directory cannot be used.
    Store,
    /// The daemon is ending; ask the next one.
    Closing,
    /// The client and the daemon have no protocol in common.
    Wire,
    /// Anything else.
    Other,
}

impl WireError {
    /// An error with a message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), causes: Vec::new(), hint: None }
    }

    /// An error with the message and the causes of another one.
    pub fn from_error(code: Code, error: &dyn std::error::Error) -> Self {
        let causes = std::iter::successors(error.source(), |cause| cause.source());
        let causes = causes.take(16).map(ToString::to_string).collect();
        Self { causes, ..Self::new(code, error.to_string()) }
    }

    /// This error, with a hint on what to do about it.
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
