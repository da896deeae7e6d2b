//! Messages: what was said to a model and by it.
//!
//! They are stored in histories, so their form is ours and changes only by
//! growing. What a provider wants back byte for byte (the signature of a
//! thought, the id of an item) is kept beside what we understand of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::ModelName;

/// What one side said at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What it consists of, in order.
    pub parts: Vec<Part>,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The asking side: a person, the runtime, a tool.
    User,
    /// The model.
    Assistant,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What the provider wants back.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        item: Value,
    },
    /// A picture.
    Image(Image),
    /// What a model thought.
    Thought(Thought),
    /// A model calls a tool.
    ToolCall(ToolCall),
    /// What became of a call.
    ToolResult(ToolResult),
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// The picture itself.
    pub picture: Picture,
}

/// Where a picture is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picture {
    /// Here, in base 64.
    Base64(String),
    /// At this address.
    Url(String),
}

/// What a model thought. Only the model that thought it can make use of it, and
/// only as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    /// What may be shown of it.
    pub text: String,
    /// The model whose thought it is.
    pub by: ModelName,
    /// What the provider wants back.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub item: Value,
}

/// A model calls a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What ties the result to the call. Providers repeat these across answers.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them: JSON, or what it took for it.
    pub arguments: String,
    /// What the provider wants back, and why the call was [refused](Self::refused).
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub item: Value,
}

impl ToolCall {
    /// What a call is called that came without a name: no provider takes one back
    /// that has none.
    pub const UNNAMED: &str = "unnamed_call";

    /// Why the call was refused while it was read, if it was. It then has no
    /// arguments, and must not be made.
    pub fn refused(&self) -> Option<&str> {
        self.item.get("refused")?.as_str()
    }
}

/// What became of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call: String,
    /// The tool.
    pub name: String,
    /// What it says.
    pub text: String,
    /// Pictures that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Whether it says why the call did not do what was asked.
    #[serde(default)]
    pub failed: bool,
}

impl Message {
    /// What a user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, parts: vec![Part::text(text)] }
    }

    /// What a model says.
    pub fn assistant(parts: Vec<Part>) -> Self {
        Self { role: Role::Assistant, parts }
    }

    /// What became of the calls of the answer before, in their order.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        let parts = results.into_iter().map(Part::ToolResult).collect();
        Self { role: Role::User, parts }
    }
}

impl Part {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), item: Value::Null }
    }
}
