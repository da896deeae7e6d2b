//! Chat completions: one message, of which every chunk carries a little.

use serde_json::{Value, json};

use super::{ReplyPart, Tokens, calls, fresh, pieces};

pub(super) fn events(says: &[ReplyPart], tokens: Tokens) -> (Vec<String>, Vec<Value>) {
    let id = format!("chatcmpl-{}", fresh());
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        event(&json!({"id": id, "object": "chat.completion.chunk", "created": 1,
            "model": "m", "choices": [choice]}))
    };
    let delta = |delta: Value| chunk(delta, Value::Null);
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
    let (mut thoughts, mut open) = (Vec::new(), Vec::new());
    for say in says {
        match say {
            ReplyPart::Text(text) => {
                events.extend(pieces(text).into_iter().map(|it| delta(json!({"content": it}))));
            }
            ReplyPart::Thought(text) => {
                thoughts.push(Value::from(text.as_str()));
                let pieces = pieces(text).into_iter();
                events.extend(pieces.map(|it| delta(json!({"reasoning_content": it}))));
            }
            ReplyPart::Hidden(_) => {}
            ReplyPart::Call { id, name, arguments } => {
                let index = open.len();
                let function = json!({"name": name, "arguments": ""});
                let call = json!({"index": index, "id": id, "type": "function",
                    "function": function});
                events.push(delta(json!({"tool_calls": [call]})));
                open.push(pieces(arguments));
            }
        }
    }
    // A piece of each call in turn.
    for round in 0..open.iter().map(Vec::len).max().unwrap_or(0) {
        for (index, pieces) in open.iter().enumerate() {
            if let Some(piece) = pieces.get(round) {
                let call = json!({"index": index, "function": {"arguments": piece}});
                events.push(delta(json!({"tool_calls": [call]})));
            }
        }
    }
    let finish = if calls(says) { "tool_calls" } else { "stop" };
    events.push(chunk(json!({}), Value::from(finish)));
    events.push(event(&json!({"id": id, "object": "chat.completion.chunk", "choices": [],
    "usage": {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.thought},
    }})));
    events.push("data: [DONE]\n\n".to_owned());
    (events, thoughts)
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
