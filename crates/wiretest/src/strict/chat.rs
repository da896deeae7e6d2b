//! What OpenAI's chat demands.

use serde_json::Value;

use super::{ParsedRequest, ReceivedAnswer, RequestEntry, list, optional, spoken, text};

pub(super) fn read(body: &Value) -> Result<ParsedRequest, String> {
    text(body, "model")?;
    if body["stream"] != true || body["stream_options"]["include_usage"] != true {
        return Err("a stream with its usage is not asked for".to_owned());
    }
    let mut entries = Vec::new();
    for (at, message) in list(body, "messages")?.iter().enumerate() {
        match text(message, "role")? {
            "system" | "developer" if at == 0 => {}
            "user" => {
                entries.push(RequestEntry::User(content(message)?));
            }
            "assistant" => entries.push(RequestEntry::Answer(answer(message)?)),
            "tool" => {
                content(message)?;
                entries.push(RequestEntry::Result(text(message, "tool_call_id")?.to_owned()));
            }
            role => return Err(format!("message {at} has the role {role:?}")),
        }
    }
    let tools = optional(body, "tools")?.iter();
    let tools = tools.map(|tool| Ok(text(&tool["function"], "name")?.to_owned()));
    Ok(ParsedRequest { entries, tools: tools.collect::<Result<_, String>>()? })
}

fn content(message: &Value) -> Result<Vec<String>, String> {
    match &message["content"] {
        Value::String(text) if !text.is_empty() => spoken(&message["content"]),
        Value::Array(parts) if !parts.is_empty() => spoken(&message["content"]),
        _ => Err(format!("a message has no content: {message}")),
    }
}

fn answer(message: &Value) -> Result<ReceivedAnswer, String> {
    let mut calls = Vec::new();
    for call in optional(message, "tool_calls")? {
        if call["type"] != "function" {
            return Err(format!("a call is of no kind: {call}"));
        }
        let function = &call["function"];
        let (name, arguments) = (text(function, "name")?, text(function, "arguments")?);
        calls.push((text(call, "id")?.to_owned(), name.to_owned(), arguments.to_owned()));
    }
    let said = match content(message) {
        Ok(said) => said.concat(),
        Err(_) if !calls.is_empty() => String::new(),
        Err(empty) => return Err(empty),
    };
    let thoughts = message.get("reasoning_content").filter(|thought| **thought != "").cloned();
    let thoughts = thoughts.into_iter().collect();
    // A chat has a field for each, and no order among them.
    Ok(ReceivedAnswer { thoughts, text: said, calls, order: Vec::new() })
}
