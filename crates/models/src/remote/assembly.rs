//! What rig reads, put together as our pieces and answers.

use rig_core::completion::{CompletionResponse, FinishReason, Usage as TheirUsage};
use rig_core::message::AssistantContent;
use rig_core::streaming::{Item, PartKind, StreamEvent};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::answer::{Answer, AnswerEvent, Stop};
use crate::bound::{AnswerBound, CALLS, PARTS};
use crate::message::{Part, Thought, ToolCall};
use crate::name::ModelName;
use crate::usage::Usage;

use super::item;
use super::ledger::{CallLedger, CollectedCall, SharedLedger, marked};
use super::weight::weight;

/// What stands in an answer for a picture.
const PICTURE: &str = "(a picture, which is not kept)";

/// An answer as it comes.
#[derive(Debug)]
pub(super) struct Assembly {
    by: ModelName,
    parts: usize,
    ledger: SharedLedger,
}

impl Assembly {
    /// An answer of this model, whose calls are in this ledger.
    pub(super) fn new(by: ModelName, ledger: SharedLedger) -> Self {
        Self { by, parts: 0, ledger }
    }

    /// When the last fragment of a call came.
    pub(super) fn progress(&self) -> Option<Instant> {
        self.ledger.lock().progress()
    }

    /// Takes what came. Not all of it is worth showing.
    pub(super) fn take(
        &mut self,
        item: Item<StreamEvent>,
    ) -> Result<Option<AnswerEvent>, AnswerBound> {
        let Item::Event(event) = item else {
            return Ok(None);
        };
        Ok(match event {
            StreamEvent::Start { kind, name, .. } => {
                self.parts += 1;
                if self.parts > PARTS + CALLS {
                    return Err(AnswerBound::Parts);
                }
                let name = name.filter(|_| kind == PartKind::ToolCall);
                name.map(|name| AnswerEvent::Calling(name.as_str().to_owned()))
            }
            StreamEvent::Text { text, .. } => {
                self.ledger.lock().count_text(text.len())?;
                Some(AnswerEvent::Text(text))
            }
            StreamEvent::Reasoning { text, .. } => {
                self.ledger.lock().count_text(text.len())?;
                Some(AnswerEvent::Thought(text))
            }
            // The ledger has them.
            StreamEvent::Arguments { .. } => None,
            StreamEvent::End { content, .. } => {
                self.ledger.lock().count_end(beside(&content))?;
                None
            }
        })
    }

    /// The whole answer.
    pub(super) fn whole(self, response: CompletionResponse) -> Answer {
        let mut ledger = std::mem::take(&mut *self.ledger.lock());
        let nameless = ledger.take_nameless();
        let stop = match (ledger.refusal(), stop(&response)) {
            (Some(refusal), _) => Stop::Refused(refusal),
            (None, Stop::Done) if !nameless.is_empty() => Stop::ToolCalls,
            (None, stop) => stop,
        };
        let usage = usage(&response.usage);
        let blocks = response.choice.into_iter();
        let parts = blocks.filter_map(|block| self.part(block, &mut ledger));
        let parts: Vec<_> = parts.collect();
        let nameless = nameless.into_iter().map(unnamed);
        Answer { parts: parts.into_iter().chain(nameless).collect(), stop, usage }
    }

    fn part(&self, mut block: AssistantContent, ledger: &mut CallLedger) -> Option<Part> {
        let native = take_native(&mut block);
        match block {
            AssistantContent::Text(text) => {
                let item = item::kept(&self.by, native);
                let blank = text.text.is_empty() && item.is_null();
                (!blank).then_some(Part::Text { text: text.text, item })
            }
            AssistantContent::Reasoning(thought) => Some(Part::Thought(Thought {
                text: thought.text,
                by: self.by.clone(),
                item: native.unwrap_or_default(),
            })),
            AssistantContent::ToolCall(call) => {
                let number = marked(&call.function.arguments).unwrap_or(usize::MAX);
                let collected = ledger.take(number);
                let native = native.map(|mut native| {
                    // They are kept once.
                    item::set_arguments(&mut native, "", &Map::new());
                    native
                });
                let kept = item::kept(&self.by, native);
                let (arguments, item) = written(collected, kept);
                let (id, name) = (call.id.wire().into_owned(), call.function.name.as_str());
                Some(Part::ToolCall(ToolCall { id, name: name.to_owned(), arguments, item }))
            }
            // Histories keep what was said to a model in pictures, not what it
            // drew.
            AssistantContent::Image(_) => Some(Part::text(PICTURE)),
            // What only a provider's own tools make; none are offered.
            _ => None,
        }
    }
}

/// More tokens than any call takes: a larger count is a mistake of the provider.
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

/// A call that came without a name. rig drops it, and then the model could not be
/// told what became of it.
fn unnamed(mut call: CollectedCall) -> Part {
    let (id, name) = (std::mem::take(&mut call.id), ToolCall::UNNAMED.to_owned());
    let (arguments, item) = written(call, Value::Null);
    Part::ToolCall(ToolCall { id, name, arguments, item })
}

/// The arguments of a call, and its item. Without any it has an empty object.
fn written(call: CollectedCall, item: Value) -> (String, Value) {
    let refused = call.refused.map(|bound| bound.to_string());
    let arguments = match call.arguments.is_empty() {
        true => "{}".to_owned(),
        false => call.arguments,
    };
    (arguments, item::with_refusal(item, refused.as_deref()))
}

/// Takes the provider's item out of a block.
fn take_native(block: &mut AssistantContent) -> Option<Value> {
    let native = match block {
        AssistantContent::Text(text) => text.native.take(),
        AssistantContent::Reasoning(thought) => thought.native.take(),
        AssistantContent::ToolCall(call) => call.native.take(),
        AssistantContent::Image(image) => image.native.take(),
        _ => None,
    };
    native.map(|native| native.item)
}

/// How many bytes a block takes beside the text that was counted as it came.
fn beside(content: &AssistantContent) -> usize {
    let counted = match content {
        AssistantContent::Text(text) => text.text.len(),
        AssistantContent::Reasoning(thought) => thought.text.len(),
        _ => 0,
    };
    let item = match content {
        AssistantContent::Opaque(opaque) => Some(&opaque.item),
        content => content.native_item(),
    };
    item.map_or(0, weight).saturating_sub(counted)
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
