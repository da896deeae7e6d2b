//! OpenAI's Responses: items one after another, but calls that follow each other
//! are mixed.

use serde_json::{Value, json};

use super::{ReplyPart, Tokens, fresh, pieces};

pub(super) fn events(says: &[ReplyPart], tokens: Tokens) -> (Vec<String>, Vec<Value>) {
    let number = fresh();
    let id = format!("resp_{number}");
    let response = |status: &str, output: &[Value]| json!({"id": id, "object": "response", "status": status, "model": "m", "output": output});
    let mut stream = Stream { events: Vec::new(), sequence: 0 };
    stream.push("response.created", json!({"response": response("in_progress", &[])}));
    stream.push("response.in_progress", json!({"response": response("in_progress", &[])}));
    let items: Vec<_> = says.iter().enumerate().map(|(at, say)| item(say, number, at)).collect();
    let mut at = 0;
    while at < says.len() {
        let run = says[at..].iter().take_while(|say| matches!(say, ReplyPart::Call { .. })).count();
        let end = at + run.max(1);
        for (index, item) in items.iter().enumerate().take(end).skip(at) {
            stream.begin(index, item);
        }
        stream.deltas(at, &says[at..end], &items[at..end]);
        for (index, item) in items.iter().enumerate().take(end).skip(at) {
            stream.push("response.output_item.done", json!({"output_index": index, "item": item}));
        }
        at = end;
    }
    let mut whole = response("completed", &items);
    whole["usage"] = json!({
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.thought},
        "total_tokens": tokens.input + tokens.output,
    });
    stream.push("response.completed", json!({"response": whole}));
    let thoughts = items.into_iter().filter(|item| item["type"] == "reasoning").collect();
    (stream.events, thoughts)
}

struct Stream {
    events: Vec<String>,
    sequence: usize,
}

impl Stream {
    fn push(&mut self, kind: &str, mut data: Value) {
        data["type"] = Value::from(kind);
        data["sequence_number"] = Value::from(self.sequence);
        self.sequence += 1;
        self.events.push(format!("event: {kind}\ndata: {data}\n\n"));
    }

    fn begin(&mut self, index: usize, item: &Value) {
        let mut empty = item.clone();
        let (field, nothing) = match item["type"].as_str() {
            Some("message") => ("content", json!([])),
            Some("reasoning") => ("summary", json!([])),
            _ => ("arguments", json!("")),
        };
        empty[field] = nothing;
        self.push("response.output_item.added", json!({"output_index": index, "item": empty}));
    }

    /// A piece of each in turn.
    fn deltas(&mut self, first: usize, says: &[ReplyPart], items: &[Value]) {
        let (kind, part) = match says.first() {
            Some(ReplyPart::Text(_)) => ("response.output_text.delta", "content_index"),
            Some(ReplyPart::Call { .. }) => {
                ("response.function_call_arguments.delta", "content_index")
            }
            _ => ("response.reasoning_summary_text.delta", "summary_index"),
        };
        let all: Vec<_> = says.iter().map(|say| pieces(text(say))).collect();
        for round in 0..all.iter().map(Vec::len).max().unwrap_or(0) {
            for (at, pieces) in all.iter().enumerate() {
                if let Some(piece) = pieces.get(round) {
                    let id = &items[at]["id"];
                    let data = json!({"output_index": first + at, "item_id": id, part: 0,
                        "delta": piece});
                    self.push(kind, data);
                }
            }
        }
    }
}

fn text(say: &ReplyPart) -> &str {
    match say {
        ReplyPart::Text(text) | ReplyPart::Thought(text) => text,
        ReplyPart::Hidden(_) => "",
        ReplyPart::Call { arguments, .. } => arguments,
    }
}

fn item(say: &ReplyPart, number: usize, at: usize) -> Value {
    let id = |prefix: &str| format!("{prefix}_{number}_{at}");
    match say {
        ReplyPart::Text(text) => {
            let part = json!({"type": "output_text", "text": text, "annotations": []});
            json!({"type": "message", "id": id("msg"), "role": "assistant",
                "status": "completed", "content": [part]})
        }
        ReplyPart::Thought(text) => {
            let summary = json!([{"type": "summary_text", "text": text}]);
            json!({"type": "reasoning", "id": id("rs"), "summary": summary,
                "encrypted_content": format!("gAAAA{number}.{at}+/Zz09==")})
        }
        ReplyPart::Hidden(text) => json!({"type": "reasoning", "id": id("rs"), "summary": [],
            "encrypted_content": format!("{text}{number}.{at}+/==")}),
        ReplyPart::Call { id: call, name, arguments } => json!({"type": "function_call",
            "id": id("fc"), "call_id": call, "name": name, "arguments": arguments,
            "status": "completed"}),
    }
}
