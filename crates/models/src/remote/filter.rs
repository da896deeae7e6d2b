//! What rig is given to read: the events of an answer without the arguments of
//! its calls, which the [ledger](super::ledger) keeps, and within bounds.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::Value;

use crate::bound::{ALL_VALUES, AnswerBound, CALL_DEPTH, CallBound, EVENT_VALUES, PARTS};
use crate::provider::{Protocol, Provider};

use self::chat::ChatCalls;
use self::responses::ResponseCalls;
use super::json_scan::{JsonScan, flattened};
use super::ledger::{CallLedger, SharedLedger, mark};

/// How deep an event nests around the arguments of a call.
const AROUND: usize = 16;

/// Rewrites the events of one answer.
#[derive(Debug)]
pub(super) struct AnswerFilter {
    wire: FilterWire,
    ledger: SharedLedger,
    values: usize,
}

/// What is known of the calls so far, for each language.
#[derive(Debug)]
enum FilterWire {
    Anthropic(anthropic::BlockCalls),
    Chat(ChatCalls),
    Gemini,
    Responses(ResponseCalls),
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passes {
    /// It is read, as it was rewritten.
    On,
    /// Nothing of it is left to read.
    No,
}

/// One event being rewritten.
struct Frame<'a> {
    value: &'a mut Value,
    ledger: &'a mut CallLedger,
    /// Whether something in it was too deep to be kept.
    flat: Flat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flat {
    Whole,
    Cut,
}

impl AnswerFilter {
    /// A filter for the answers of this provider.
    pub(super) fn new(provider: Provider, ledger: SharedLedger) -> Self {
        let wire = match provider.spec().protocol {
            Protocol::Messages => FilterWire::Anthropic(anthropic::BlockCalls::default()),
            Protocol::Gemini => FilterWire::Gemini,
            Protocol::Responses => FilterWire::Responses(ResponseCalls::default()),
            Protocol::Chat | Protocol::Ollama | Protocol::Local => {
                FilterWire::Chat(ChatCalls::default())
            }
        };
        Self { wire, ledger, values: 0 }
    }

    /// The event as rig may read it, if anything is left of it.
    pub(super) fn pass(&mut self, data: String) -> Result<Option<String>, AnswerBound> {
        let mut scan = JsonScan::of(&data);
        let (data, flat) = match scan.deepest() > CALL_DEPTH + AROUND {
            true => (flattened(&data, CALL_DEPTH + AROUND), Flat::Cut),
            false => (data, Flat::Whole),
        };
        if flat == Flat::Cut {
            scan = JsonScan::of(&data);
        }
        if scan.values() > EVENT_VALUES {
            return Err(AnswerBound::Values);
        }
        self.values += scan.values();
        if self.values > ALL_VALUES {
            return Err(AnswerBound::AllValues);
        }
        let crowded = scan.values() > PARTS;
        if flat == Flat::Whole && !crowded && !self.wire.concerns(&data) {
            return Ok(Some(data));
        }
        // What is no JSON is told by rig.
        let Ok(mut value) = serde_json::from_str::<Value>(&data) else { return Ok(Some(data)) };
        drop(data);
        let mut ledger = self.ledger.lock();
        let frame = Frame { value: &mut value, ledger: &mut ledger, flat };
        let passes = match &mut self.wire {
            FilterWire::Anthropic(calls) => calls.pass(frame)?,
            FilterWire::Chat(calls) => calls.pass(frame)?,
            FilterWire::Gemini => gemini::pass(frame)?,
            FilterWire::Responses(calls) => calls.pass(frame)?,
        };
        ledger.check()?;
        Ok((passes == Passes::On).then(|| value.to_string()))
    }
}

impl FilterWire {
    /// Whether an event may hold what has to be rewritten. A letter of a name can
    /// be written as an escape.
    fn concerns(&self, data: &str) -> bool {
        let signs: &[&str] = match self {
            Self::Anthropic(_) => return !anthropic::is_plain(data),
            Self::Chat(_) => {
                &["tool_calls", "refusal", "reasoning_details", "annotations", "\"message\""]
            }
            Self::Gemini => &["functionCall", "citationMetadata", "groundingMetadata"],
            Self::Responses(_) => &["call", "refusal", "output_item", "\"response\"", "\"output\""],
        };
        data.contains("\\u00") || signs.iter().any(|sign| data.contains(sign))
    }
}

impl Frame<'_> {
    /// Takes a call with these arguments and says what stands in their place.
    fn collect(&mut self, number: usize, arguments: &str) -> Value {
        self.ledger.push(number, arguments);
        if self.flat == Flat::Cut {
            self.ledger.refuse(number, CallBound::Depth);
        }
        mark(number)
    }
}

/// Arguments as text: a string as it is, all else as JSON.
fn text_of(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn string<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Counts entries that a provider's reader keeps until the answer ends.
fn count_entries(seen: &mut usize, more: usize) -> Result<(), AnswerBound> {
    *seen += more;
    if *seen > PARTS { Err(AnswerBound::Parts) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
