//! The events of a hostile answer, in the language of each provider.

use serde_json::{Value, json};

use super::Body;

/// A provider's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostileWire {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
}

impl HostileWire {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Anthropic, Self::Gemini];

    pub(super) fn open(self) -> String {
        match self {
            Self::Chat | Self::Gemini => String::from(":\n\n"),
            Self::Responses => {
                event(&json!({"type": "response.created", "response": {"id": "r", "output": []}}))
            }
            Self::Anthropic => event(&json!({"type": "message_start", "message":
                {"id": "m", "content": [], "usage": {"input_tokens": 3, "output_tokens": 1}}})),
        }
    }

    pub(super) fn close(self) -> String {
        match self {
            Self::Chat => {
                let usage = json!({"prompt_tokens": 3, "completion_tokens": 3});
                let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                    "usage": usage});
                format!("{}data: [DONE]\n\n", event(&end))
            }
            Self::Responses => event(&json!({"type": "response.completed", "response":
                {"id": "r", "status": "completed", "output": []}})),
            Self::Anthropic => {
                let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                    "usage": {"output_tokens": 3}});
                format!("{}{}", event(&delta), event(&json!({"type": "message_stop"})))
            }
            Self::Gemini => {
                event(&json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}))
            }
        }
    }

    /// A short answer.
    pub(super) fn short(self) -> Body {
        Box::new([self.open(), self.text("ok"), self.close()].into_iter())
    }

    /// A delta of text.
    pub(super) fn text(self, text: &str) -> String {
        match self {
            Self::Chat => chat(json!({"content": text})),
            Self::Responses => event(&json!({"type": "response.output_text.delta",
                "output_index": 0, "content_index": 0, "delta": text})),
            Self::Anthropic => block_delta(0, json!({"type": "text_delta", "text": text})),
            Self::Gemini => gemini(json!({"text": text})),
        }
    }

    /// What stands before and after the text of a delta, on one line.
    pub(super) fn around_text(self) -> (String, String) {
        let event = self.text("HERE");
        let (before, after) = event.split_once("HERE").unwrap_or((event.as_str(), ""));
        (before.to_owned(), after.to_owned())
    }

    /// A thought in pieces.
    pub(super) fn thought(self, pieces: Body) -> Body {
        Box::new(pieces.map(move |piece| match self {
            Self::Chat => chat(json!({"reasoning_content": piece})),
            Self::Responses => event(&json!({"type": "response.reasoning_summary_text.delta",
                "output_index": 0, "summary_index": 0, "delta": piece})),
            Self::Anthropic => block_delta(0, json!({"type": "thinking_delta", "thinking": piece})),
            Self::Gemini => gemini(json!({"text": piece, "thought": true})),
        }))
    }

    /// The block of this number: one letter of text, and a thought after it.
    pub(super) fn block(self, number: usize) -> Vec<String> {
        let second = 2 * number + 1;
        match self {
            Self::Chat => vec![chat(json!({"content": [{"type": "text", "text": "x"},
                {"type": "odd", "odd": number}]}))],
            Self::Responses => {
                let item = json!({"type": "message", "id": format!("m{number}"),
                    "content": [{"type": "output_text", "text": "x"}]});
                vec![event(&json!({"type": "response.output_item.done", "output_index": number,
                    "item": item}))]
            }
            Self::Anthropic => [number * 2, second]
                .into_iter()
                .flat_map(|index| {
                    let block = json!({"type": "text", "text": "x"});
                    [
                        event(&json!({"type": "content_block_start", "index": index,
                            "content_block": block})),
                        event(&json!({"type": "content_block_stop", "index": index})),
                    ]
                })
                .collect(),
            Self::Gemini => {
                vec![gemini(json!({"text": "x"})), gemini(json!({"text": "y", "thought": true}))]
            }
        }
    }

    /// A call with these arguments. Gemini has them in one event.
    pub(super) fn call(self, number: usize, name: &'static str, arguments: Body) -> Body {
        let begun = self.call_begins(number, name);
        let ended = self.call_ends(number, name);
        match self {
            Self::Gemini => {
                let before = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":";
                let before = format!("{before}{{\"name\":\"{name}\",\"args\":");
                Box::new(
                    std::iter::once(before)
                        .chain(arguments)
                        .chain(std::iter::once("}}]}}]}\n\n".to_owned())),
                )
            }
            _ => {
                let pieces = arguments.map(move |piece| self.call_goes_on(number, &piece));
                Box::new(begun.into_iter().chain(pieces).chain(ended))
            }
        }
    }

    /// Four calls whose fragments come in turn.
    pub(super) fn interleaved(self, size: usize) -> Body {
        if self == Self::Gemini {
            return Box::new((0..size / 80).flat_map(move |number| {
                self.call(number, "look", Box::new(std::iter::once("{}".to_owned())))
            }));
        }
        let begun = (0..4).flat_map(move |number| {
            self.call_begins(number, "look")
                .into_iter()
                .chain([self.call_goes_on(number, "{\"path\":\"")])
        });
        let turns = (0..size / 4).map(move |turn| self.call_goes_on(turn % 4, "abcd"));
        let ended = (0..4).flat_map(move |number| {
            std::iter::once(self.call_goes_on(number, "\"}")).chain(self.call_ends(number, "look"))
        });
        Box::new(begun.chain(turns).chain(ended))
    }

    fn call_begins(self, number: usize, name: &str) -> Option<String> {
        let id = format!("call_{number}");
        match self {
            Self::Chat => Some(chat(json!({"tool_calls": [{"index": number, "id": id,
                "type": "function", "function": {"name": name, "arguments": ""}}]}))),
            Self::Responses => Some(event(&json!({"type": "response.output_item.added",
                "output_index": number, "item": {"type": "function_call", "id": format!("fc{number}"),
                "call_id": id, "name": name, "arguments": ""}}))),
            Self::Anthropic => Some(event(&json!({"type": "content_block_start", "index": number,
                "content_block": {"type": "tool_use", "id": id, "name": name, "input": {}}}))),
            Self::Gemini => None,
        }
    }

    fn call_goes_on(self, number: usize, piece: &str) -> String {
        match self {
            Self::Chat => chat(json!({"tool_calls": [{"index": number,
                "function": {"arguments": piece}}]})),
            Self::Responses => event(&json!({"type": "response.function_call_arguments.delta",
                "output_index": number, "item_id": format!("fc{number}"), "delta": piece})),
            Self::Anthropic => {
                block_delta(number, json!({"type": "input_json_delta", "partial_json": piece}))
            }
            Self::Gemini => String::new(),
        }
    }

    fn call_ends(self, number: usize, name: &str) -> Option<String> {
        match self {
            Self::Chat | Self::Gemini => None,
            // The provider repeats the arguments here; leaving them out is the
            // cheaper way to attack.
            Self::Responses => Some(event(&json!({"type": "response.output_item.done",
                "output_index": number, "item": {"type": "function_call",
                "id": format!("fc{number}"), "call_id": format!("call_{number}"), "name": name,
                "status": "completed"}}))),
            Self::Anthropic => Some(event(&json!({"type": "content_block_stop", "index": number}))),
        }
    }
}

pub(super) fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

pub(super) fn chat(delta: Value) -> String {
    event(&json!({"id": "c", "choices": [{"index": 0, "delta": delta}]}))
}

pub(super) fn block_delta(index: usize, delta: Value) -> String {
    event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

pub(super) fn gemini(part: Value) -> String {
    event(&json!({"candidates": [{"content": {"parts": [part]}}]}))
}
