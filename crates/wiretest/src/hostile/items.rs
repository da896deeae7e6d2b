//! The events of answers that hide their cost beside text and arguments.

use serde_json::json;

use super::HostileWire;
use super::wire::{block_delta, chat, event, gemini};

impl HostileWire {
    /// An item that only the provider understands, with this in it. Nothing says
    /// that it has ended.
    pub(super) fn item(self, number: usize, text: &str) -> String {
        match self {
            Self::Chat => chat(json!({"reasoning_details": [{"type": "reasoning.encrypted",
                "data": text, "index": number}]})),
            Self::Responses => done(
                number,
                &json!({"type": "reasoning", "summary": [],
                "id": format!("rs{number}"), "encrypted_content": text}),
            ),
            Self::Anthropic => event(&json!({"type": "content_block_start", "index": number,
                "content_block": {"type": "redacted_thinking", "data": text}})),
            Self::Gemini => gemini(json!({"text": "x", "thoughtSignature": text})),
        }
    }

    /// What makes an item longer, or states it again with other words.
    pub(super) fn continued(self, number: usize, text: &str) -> String {
        match self {
            Self::Chat => chat(json!({"reasoning_details": [{"type": "reasoning.text",
                "text": text, "index": 0}]})),
            Self::Responses => {
                let delta = event(&json!({"type": "response.reasoning_summary_text.delta",
                    "output_index": number, "summary_index": 0, "delta": "other"}));
                let summary = json!([{"type": "summary_text", "text": text}]);
                let item = json!({"type": "reasoning", "summary": summary});
                format!("{delta}{}", done(number, &item))
            }
            Self::Anthropic => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                let start = event(&json!({"type": "content_block_start", "index": 0,
                    "content_block": block}));
                let delta = block_delta(0, json!({"type": "signature_delta", "signature": text}));
                if number == 0 { format!("{start}{delta}") } else { delta }
            }
            Self::Gemini => gemini(json!({"text": "x", "thought": true, "thoughtSignature": text})),
        }
    }

    /// A message that is done already, where there is such a thing.
    pub(super) fn before_refusal(self) -> String {
        match self {
            Self::Responses => done(
                0,
                &json!({"type": "message", "id": "m",
                "content": [{"type": "output_text", "text": "x"}]}),
            ),
            _ => String::from(":\n\n"),
        }
    }

    /// A refusal in a place that is not read for text.
    pub(super) fn hidden_refusal(self, text: &str) -> String {
        match self {
            Self::Chat => chat(json!({"content": [], "refusal": text})),
            Self::Responses => event(&json!({"type": "response.refusal.delta", "output_index": 0,
                "content_index": 0, "item_id": "m", "delta": text})),
            Self::Anthropic | Self::Gemini => self.text(text),
        }
    }

    /// A call or an item with this in its id.
    pub(super) fn named(self, number: usize, text: &str) -> String {
        let id = format!("{number}{text}");
        match self {
            Self::Chat => chat(json!({"tool_calls": (0..64).map(|at| json!({
                "index": number * 64 + at, "id": if at == 63 { id.as_str() } else { "" },
                "type": "function", "function": {"name": "look", "arguments": "{}"}}))
                .collect::<Vec<_>>()})),
            Self::Responses => event(&json!({"type": "response.output_item.added",
                "output_index": number, "item": {"type": "reasoning", "id": id}})),
            Self::Anthropic => event(&json!({"type": "content_block_start", "index": number,
                "content_block": {"type": "tool_use", "id": id, "name": "look", "input": {}}})),
            Self::Gemini => gemini(json!({"functionCall": {"id": id, "name": "look"}})),
        }
    }

    /// A fragment of the first call with its name, and with another id.
    pub(super) fn renamed_call(self, number: usize) -> String {
        let id = format!("call_{number}");
        match self {
            Self::Chat => {
                let name = if number.is_multiple_of(2) { "look" } else { "" };
                chat(json!({"tool_calls": [{"index": 0, "id": id, "type": "function",
                    "function": {"name": name, "arguments": ""}}]}))
            }
            Self::Responses => done(
                0,
                &json!({"type": "function_call", "id": "fc",
                "call_id": id, "name": "look", "arguments": "{}"}),
            ),
            Self::Anthropic => event(&json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": id, "name": "look", "input": {}}})),
            Self::Gemini => gemini(json!({"functionCall": {"name": "look", "args": {}}})),
        }
    }

    /// What stands before, in and after one event of many blocks.
    pub(super) fn crowded(self) -> (String, &'static str, String) {
        let (event, each) = match self {
            Self::Chat => (
                chat(json!({"content": ["HERE"]})),
                r#"{"type":"text","text":"x"},{"type":"odd"},"#,
            ),
            Self::Responses => (
                event(&json!({"type": "response.completed", "response":
                    {"id": "r", "status": "completed", "output": ["HERE"]}})),
                r#"{"type":"message"},{"type":"odd"},{"type":"reasoning"},"#,
            ),
            Self::Anthropic => (
                event(&json!({"type": "message", "id": "m", "stop_reason": "end_turn",
                    "content": ["HERE"], "usage": {"input_tokens": 3, "output_tokens": 1}})),
                r#"{"type":"text","text":"x"},{"type":"odd"},"#,
            ),
            Self::Gemini => (
                event(&json!({"candidates": [{"content": {"parts": ["HERE"]}}]})),
                r#"{"text":"x"},{"text":"x","thought":true},"#,
            ),
        };
        let (before, after) = event.split_once("\"HERE\"").unwrap_or((event.as_str(), ""));
        // The list of blocks ends with a comma.
        (before.to_owned(), each, format!("{{}}{after}"))
    }
}

/// An item that is done.
fn done(index: usize, item: &serde_json::Value) -> String {
    event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}))
}
