//! Anthropic's messages: blocks one after another.

use serde_json::{Value, json};

use super::{ReplyPart, Tokens, calls, fresh, pieces};

pub(super) fn events(says: &[ReplyPart], tokens: Tokens) -> (Vec<String>, Vec<Value>) {
    let number = fresh();
    let usage = json!({
        "input_tokens": tokens.input - tokens.cached,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    });
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": "m", "content": [], "stop_reason": null, "usage": usage});
    let mut events = vec![
        event(&json!({"type": "message_start", "message": message})),
        event(&json!({"type": "ping"})),
    ];
    let mut thoughts = Vec::new();
    for (index, say) in says.iter().enumerate() {
        let (block, deltas) = block(say, &format!("{number}.{index}"), &mut thoughts);
        events.push(event(
            &json!({"type": "content_block_start", "index": index, "content_block": block}),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        events.push(event(&json!({"type": "content_block_stop", "index": index})));
    }
    let stop = if calls(says) { "tool_use" } else { "end_turn" };
    let usage = json!({
        "output_tokens": tokens.output,
        "output_tokens_details": {"thinking_tokens": tokens.thought},
    });
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.push(event(&json!({"type": "message_delta", "delta": delta, "usage": usage})));
    events.push(event(&json!({"type": "message_stop"})));
    (events, thoughts)
}

fn block(say: &ReplyPart, number: &str, thoughts: &mut Vec<Value>) -> (Value, Vec<Value>) {
    match say {
        ReplyPart::Text(text) => {
            let deltas = pieces(text).into_iter();
            let deltas = deltas.map(|it| json!({"type": "text_delta", "text": it}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        ReplyPart::Thought(text) => {
            // Two halves, as a long one comes, with every letter of base 64.
            let signature = [format!("EqQB{number}+/"), "Zz09==".to_owned()];
            let pieces = pieces(text).into_iter();
            let mut deltas: Vec<_> =
                pieces.map(|it| json!({"type": "thinking_delta", "thinking": it})).collect();
            for half in &signature {
                deltas.push(json!({"type": "signature_delta", "signature": half}));
            }
            thoughts.push(json!({"type": "thinking", "thinking": text,
                "signature": signature.concat()}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        ReplyPart::Hidden(text) => {
            let hidden =
                json!({"type": "redacted_thinking", "data": format!("{text}{number}/+==")});
            thoughts.push(hidden.clone());
            (hidden, Vec::new())
        }
        ReplyPart::Call { id, name, arguments } => {
            let pieces = pieces(arguments).into_iter();
            let deltas = pieces.map(|it| json!({"type": "input_json_delta", "partial_json": it}));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas.collect())
        }
    }
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}
