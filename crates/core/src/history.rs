//! What was really sent to and received from a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::payload::Payload;
use crate::text::cut;
use crate::time::Stamp;

/// One block of a history. Histories only grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// The tool's name, if it is a tool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// Its text.
    pub text: Arc<str>,
    /// What else belongs to it, byte for byte as it must be sent again.
    #[serde(default)]
    pub data: Payload,
    /// When it was made.
    pub at: Stamp,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// What a person said.
    User,
    /// What the model said.
    Assistant,
    /// What the model thought.
    Thought,
    /// A tool call.
    ToolUse,
    /// What a tool returned.
    ToolResult,
    /// A digest or message that the runtime put in.
    Notice,
    /// Anything else.
    Other,
}

impl Block {
    /// A block of `kind` that says `text`.
    pub fn new(kind: BlockKind, text: impl Into<Arc<str>>, at: Stamp) -> Self {
        Self { kind, name: None, text: text.into(), data: Payload::Null, at }
    }

    /// How it shows when free text is cut at `limit` scalars: nothing at 0.
    pub fn shown(&self, limit: usize) -> Option<String> {
        (limit > 0).then(|| cut(&self.text, limit).into_owned())
    }
}
