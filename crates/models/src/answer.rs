//! What comes back from a model.

use serde::{Deserialize, Serialize};

use crate::message::{Message, Part, ToolCall};
use crate::usage::Usage;

/// An event of an answer that is arriving. The last event holds the whole answer;
/// the others show its progress.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnswerEvent {
    /// More text.
    Text(String),
    /// More of what it thinks.
    Thought(String),
    /// It begins to call this tool.
    Calling(String),
    /// The whole answer; nothing follows.
    Whole(Box<Answer>),
}

/// The whole answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it said, thought and called, in order.
    pub parts: Vec<Part>,
    /// Why it ended there.
    pub stop: Stop,
    /// What it took.
    pub usage: Usage,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stop {
    /// It was done.
    Done,
    /// It wants the results of its calls.
    ToolCalls,
    /// It had no more room.
    Length,
    /// The provider, or the model, would not.
    Refused(String),
}

impl Answer {
    /// The text alone.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// As a message of the model.
    pub fn into_message(self) -> Message {
        Message::assistant(self.parts)
    }
}
