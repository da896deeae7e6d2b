//! The history of an owner: what was sent to and received from a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::payload::Payload;
use crate::text::cut;
use crate::time::Stamp;

/// One block of a history. Histories are append-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its kind.
    pub kind: BlockKind,
    /// The tool's name, for tool calls and tool results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// Its text.
    pub text: Arc<str>,
    /// Additional data that must be sent to the provider again byte for byte.
    #[serde(default)]
    pub data: Payload,
    /// When it was created.
    pub at: Stamp,
}

/// The kind of a history block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockKind {
    /// A person's message.
    User,
    /// The model's text.
    Assistant,
    /// The model's reasoning.
    Thought,
    /// A tool call.
    ToolUse,
    /// A tool's result.
    ToolResult,
    /// A digest or message that the runtime inserted.
    Notice,
    /// Any other block.
    Other,
}

impl Block {
    /// A block with `kind` and `text`, and without data.
    pub fn new(kind: BlockKind, text: impl Into<Arc<str>>, at: Stamp) -> Self {
        Self { kind, name: None, text: text.into(), data: Payload::Null, at }
    }

    /// The text, cut to `limit` scalars; `None` if `limit` is 0.
    pub fn shown(&self, limit: usize) -> Option<String> {
        (limit > 0).then(|| cut(&self.text, limit).into_owned())
    }
}
