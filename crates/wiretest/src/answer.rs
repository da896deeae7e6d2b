//! An answer that the server has sent, for comparison with the requests that
//! follow it.

use serde_json::Value;

/// The kind of a part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Text.
    Text,
    /// A thought.
    Thought,
    /// A call of a tool.
    Call,
}

/// The content of an answer that was sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SentAnswer {
    pub(crate) thoughts: Vec<Value>,
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) order: Vec<PartKind>,
}
