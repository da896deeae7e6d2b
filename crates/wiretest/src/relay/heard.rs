//! What an answer of another server says, read from its events.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::SentAnswer;
use crate::protocol::WireProtocol;
use crate::strict::PartKind;

/// What an answer says, once all of it is there.
pub(super) fn whole(language: WireProtocol, bytes: &str) -> Option<SentAnswer> {
    // Every event is a line, and every line is in one piece.
    let lines = bytes.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = lines.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
    match language {
        WireProtocol::Chat => chat(events),
        WireProtocol::Responses => responses(events),
        WireProtocol::Anthropic => anthropic(events),
    }
}

fn chat(events: impl Iterator<Item = Value>) -> Option<SentAnswer> {
    let (mut said, mut thought, mut ended) = (SentAnswer::default(), String::new(), false);
    for event in events {
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        said.text.push_str(delta["content"].as_str().unwrap_or_default());
        thought.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or_default() as usize;
            if said.calls.len() <= index {
                said.calls.resize(index + 1, Default::default());
            }
            let (name, arguments) = &mut said.calls[index];
            name.push_str(call["function"]["name"].as_str().unwrap_or_default());
            arguments.push_str(call["function"]["arguments"].as_str().unwrap_or_default());
        }
        ended |= !choice["finish_reason"].is_null();
    }
    if !thought.is_empty() {
        said.thoughts.push(thought.into());
    }
    ended.then_some(said)
}

fn responses(mut events: impl Iterator<Item = Value>) -> Option<SentAnswer> {
    let last = events.find(|event| event["type"] == "response.completed")?;
    let mut said = SentAnswer::default();
    for item in last["response"]["output"].as_array()? {
        match item["type"].as_str()? {
            "reasoning" => {
                said.thoughts.push(item.clone());
                said.order.push(PartKind::Thought);
            }
            "function_call" => {
                said.calls.push((field(item, "name"), field(item, "arguments")));
                said.order.push(PartKind::Call);
            }
            _ => {
                let parts = item["content"].as_array().into_iter().flatten();
                said.text.extend(parts.map(|part| field(part, "text")));
                said.order.push(PartKind::Text);
            }
        }
    }
    Some(said)
}

fn anthropic(events: impl Iterator<Item = Value>) -> Option<SentAnswer> {
    let mut blocks: BTreeMap<u64, Value> = BTreeMap::new();
    let mut ended = false;
    for event in events {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str()? {
            "content_block_start" => {
                let mut block = event["content_block"].clone();
                if block["type"] == "tool_use" {
                    block["input"] = json!("");
                }
                blocks.insert(index, block);
            }
            "content_block_delta" => {
                let block = blocks.get_mut(&index)?;
                let (from, to) = match event["delta"]["type"].as_str()? {
                    "text_delta" => ("text", "text"),
                    "thinking_delta" => ("thinking", "thinking"),
                    "signature_delta" => ("signature", "signature"),
                    _ => ("partial_json", "input"),
                };
                block[to] = json!(field(block, to) + &field(&event["delta"], from));
            }
            "message_stop" => ended = true,
            _ => {}
        }
    }
    let mut said = SentAnswer::default();
    for block in blocks.into_values() {
        said.order.push(match block["type"].as_str()? {
            "text" => {
                said.text.push_str(&field(&block, "text"));
                PartKind::Text
            }
            "tool_use" => {
                said.calls.push((field(&block, "name"), field(&block, "input")));
                PartKind::Call
            }
            _ => {
                said.thoughts.push(block);
                PartKind::Thought
            }
        });
    }
    ended.then_some(said)
}

fn field(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ReplyPart;

    #[test]
    fn what_our_own_server_says_is_heard() {
        let says = [
            ReplyPart::thought("hm"),
            ReplyPart::text("so ü"),
            ReplyPart::call("a", "look", r#"{"at": 1}"#),
            ReplyPart::call("b", "list", "{oops"),
        ];
        for language in WireProtocol::ALL {
            let reply = language.reply(&says);
            let bytes = reply.bytes();
            let mut said = reply.said.unwrap();
            if language == WireProtocol::Chat {
                said.order.clear();
            }
            assert_eq!(whole(language, &bytes), Some(said), "{language:?}");
            let half: String = bytes.chars().take(bytes.chars().count() / 2).collect();
            assert_eq!(whole(language, &half), None, "{language:?}");
        }
    }
}
