//! What rig reads, put together as our pieces and answers.

use rig_core::completion::{CompletionResponse, FinishReason, Usage as TheirUsage};
use rig_core::message::{AssistantContent, CallId};
use rig_core::streaming::{Item, PartKind, StreamEvent};
use serde_json::Value;
use std::collections::HashMap;

use crate::answer::{Answer, Piece, Stop};
use crate::message::{Part, Thought, ToolCall};
use crate::name::ModelName;
use crate::usage::Usage;

use super::item;

/// The longest answer that is kept, thoughts and arguments included.
const LONGEST: usize = 8 * 1024 * 1024;

/// What stands in an answer for a picture.
const PICTURE: &str = "(a picture, which is not kept)";

/// An answer grew past what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is longer than {} MiB", LONGEST / 1024 / 1024)]
pub(super) struct TooLong;

/// An answer as it comes.
#[derive(Debug)]
pub(super) struct Assembly {
    by: ModelName,
    bytes: usize,
    // The arguments of the calls as they are written, by place.
    writing: HashMap<usize, String>,
    written: Vec<(CallId, String)>,
}

impl Assembly {
    /// An answer of this model.
    pub(super) fn new(by: ModelName) -> Self {
        Self { by, bytes: 0, writing: HashMap::new(), written: Vec::new() }
    }

    /// Takes what came. Not all of it is worth showing.
    pub(super) fn take(&mut self, item: Item<StreamEvent>) -> Result<Option<Piece>, TooLong> {
        let Item::Event(event) = item else {
            return Ok(None);
        };
        Ok(match event {
            StreamEvent::Start { kind: PartKind::ToolCall, name, .. } => {
                name.map(|name| Piece::Calling(name.as_str().to_owned()))
            }
            StreamEvent::Start { .. } => None,
            StreamEvent::Text { text, .. } => {
                self.grow(&text)?;
                Some(Piece::Text(text))
            }
            StreamEvent::Reasoning { text, .. } => {
                self.grow(&text)?;
                Some(Piece::Thought(text))
            }
            StreamEvent::Arguments { part, json } => {
                self.grow(&json)?;
                self.writing.entry(part.index()).or_default().push_str(&json);
                None
            }
            StreamEvent::End { part, content } => {
                let arguments = self.writing.remove(&part.index());
                if let (AssistantContent::ToolCall(call), Some(arguments)) = (content, arguments) {
                    self.written.push((call.id, arguments));
                }
                None
            }
        })
    }

    fn grow(&mut self, text: &str) -> Result<(), TooLong> {
        self.bytes += text.len();
        if self.bytes > LONGEST { Err(TooLong) } else { Ok(()) }
    }

    /// The whole answer.
    pub(super) fn whole(mut self, response: CompletionResponse) -> Answer {
        let nameless = nameless(&response.raw);
        let stop = match stop(&response) {
            Stop::Done if !nameless.is_empty() => Stop::ToolCalls,
            stop => stop,
        };
        let usage = usage(&response.usage);
        let blocks = response.choice.into_iter();
        let parts = blocks.filter_map(|block| self.part(block));
        let parts = parts.chain(nameless.into_iter().map(Part::ToolCall)).collect();
        Answer { parts, stop, usage }
    }

    fn part(&mut self, block: AssistantContent) -> Option<Part> {
        let native = block.native_item().cloned();
        match block {
            AssistantContent::Text(text) => {
                let item = item::kept(&self.by, native.as_ref());
                let blank = text.text.is_empty() && item.is_null();
                (!blank).then_some(Part::Text { text: text.text, item })
            }
            AssistantContent::Reasoning(thought) => Some(Part::Thought(Thought {
                text: thought.text,
                by: self.by.clone(),
                item: native.unwrap_or_default(),
            })),
            AssistantContent::ToolCall(call) => {
                let found = self.written.iter().position(|(id, _)| *id == call.id);
                let arguments = match found {
                    Some(at) => self.written.remove(at).1,
                    None => {
                        let stated = call.function.arguments_value();
                        call.function.invalid_arguments.unwrap_or_else(|| stated.to_string())
                    }
                };
                Some(Part::ToolCall(ToolCall {
                    id: call.id.wire().into_owned(),
                    name: call.function.name.as_str().to_owned(),
                    arguments,
                    item: item::kept(&self.by, native.as_ref()),
                }))
            }
            // Histories keep what was said to a model in pictures, not what it
            // drew.
            AssistantContent::Image(_) => Some(Part::text(PICTURE)),
            // What only a provider's own tools make; none are offered.
            _ => None,
        }
    }
}

/// More than any call takes: what is told beyond it is a mistake, with which nobody
/// shall have to reckon.
const MOST: u64 = 1 << 40;

fn usage(theirs: &TheirUsage) -> Usage {
    let told = |count: Option<u64>| count.unwrap_or_default().min(MOST);
    Usage {
        input: told(theirs.input_tokens),
        cache_read: told(theirs.cached_input_tokens),
        cache_write: told(theirs.cache_creation_input_tokens),
        output: told(theirs.output_tokens),
        thought: told(theirs.reasoning_tokens),
    }
}

fn stop(response: &CompletionResponse) -> Stop {
    if let Some(refusal) = refusal(&response.raw) {
        return Stop::Refused(refusal);
    }
    let calls = response.tool_calls().next().is_some();
    match response.finish_reason() {
        Some(FinishReason::Length) => Stop::Length,
        Some(FinishReason::ContentFilter) => Stop::Refused(
            response.error.clone().unwrap_or_else(|| "the content was filtered".to_owned()),
        ),
        _ if calls => Stop::ToolCalls,
        Some(FinishReason::Other(reason)) if response.text().trim().is_empty() => {
            Stop::Refused(response.error.clone().unwrap_or(reason))
        }
        _ => Stop::Done,
    }
}

/// The calls that came without a name. rig drops them, and then nobody could tell
/// the model what became of them.
fn nameless(raw: &Value) -> Vec<ToolCall> {
    const PLACES: [&str; 5] = [
        "/choices/0/message/tool_calls",
        "/message/tool_calls",
        "/output",
        "/content",
        "/candidates/0/content/parts",
    ];
    let items = PLACES.iter().filter_map(|place| raw.pointer(place)?.as_array()).flatten();
    let calls = items.filter_map(|item| {
        let is_call = matches!(item["type"].as_str(), Some("function_call" | "tool_use"));
        let inner = item.get("function").or_else(|| item.get("functionCall"));
        let call = inner.or_else(|| is_call.then_some(item))?;
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        if !name.trim().is_empty() {
            return None;
        }
        let id = item.get("call_id").or_else(|| item.get("id")).and_then(Value::as_str);
        let arguments = ["arguments", "input", "args"].iter().find_map(|key| call.get(key));
        let arguments = match arguments {
            Some(Value::String(arguments)) => arguments.clone(),
            Some(arguments) => arguments.to_string(),
            None => "{}".to_owned(),
        };
        let (id, name) = (id.unwrap_or_default().to_owned(), ToolCall::UNNAMED.to_owned());
        Some(ToolCall { id, name, arguments, item: Value::Null })
    });
    calls.collect()
}

/// What the model said in refusing, where the provider marks it as that: in a
/// chat message, or in a part of an item of Responses.
fn refusal(raw: &Value) -> Option<String> {
    let chat = raw.pointer("/choices/0/message/refusal").and_then(Value::as_str);
    let parts = raw.get("output").and_then(Value::as_array).into_iter().flatten();
    let parts = parts.filter_map(|item| item.get("content")?.as_array()).flatten();
    let mut refused = parts.filter_map(|part| part.get("refusal")?.as_str());
    chat.or_else(|| refused.next()).filter(|said| !said.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_nobody_could_reckon_with_is_cut() {
        let mut theirs = TheirUsage::default();
        (theirs.input_tokens, theirs.output_tokens) = (Some(u64::MAX), Some(u64::MAX));
        let read = usage(&theirs);
        assert_eq!((read.input, read.total()), (MOST, 2 * MOST));
    }
}
