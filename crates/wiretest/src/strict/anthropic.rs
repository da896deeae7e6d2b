//! What Anthropic demands.

use serde_json::Value;

use super::{
    ParsedRequest, PartKind, ReceivedAnswer, RequestEntry, is_blank, list, optional, spoken, text,
};

pub(super) fn read(body: &Value) -> Result<ParsedRequest, String> {
    text(body, "model")?;
    if body["stream"] != true || body["max_tokens"].as_u64().is_none_or(|n| n == 0) {
        return Err("a stream of a length is not asked for".to_owned());
    }
    let mut entries = Vec::new();
    for (at, message) in list(body, "messages")?.iter().enumerate() {
        let due = if at % 2 == 0 { "user" } else { "assistant" };
        if text(message, "role")? != due {
            return Err(format!("message {at} is not the {due}'s"));
        }
        let blocks = list(message, "content")?;
        if blocks.is_empty() {
            return Err(format!("message {at} is empty"));
        }
        match due {
            "user" => user(blocks, &mut entries)?,
            _ => entries.push(RequestEntry::Answer(answer(blocks)?)),
        }
    }
    marks(body)?;
    let tools = optional(body, "tools")?.iter();
    let tools = tools.map(|tool| Ok(text(tool, "name")?.to_owned()));
    Ok(ParsedRequest { entries, tools: tools.collect::<Result<_, String>>()? })
}

fn user(blocks: &[Value], entries: &mut Vec<RequestEntry>) -> Result<(), String> {
    let mut said = Vec::new();
    for block in blocks {
        match text(block, "type")? {
            "tool_result" if !said.is_empty() => {
                return Err(format!("a result comes after other words: {block}"));
            }
            "tool_result" => {
                // It may have no content at all.
                if !block["content"].is_null() {
                    spoken(&block["content"])?;
                }
                entries.push(RequestEntry::Result(text(block, "tool_use_id")?.to_owned()));
            }
            "text" if is_blank(text(block, "text")?) => {
                return Err("a text is blank".to_owned());
            }
            "text" => said.push(text(block, "text")?.to_owned()),
            "image" | "document" => said.push(String::new()),
            kind => return Err(format!("a user cannot say {kind}")),
        }
    }
    if !said.is_empty() {
        entries.push(RequestEntry::User(said));
    }
    Ok(())
}

fn answer(blocks: &[Value]) -> Result<ReceivedAnswer, String> {
    let mut answer = ReceivedAnswer::default();
    for block in blocks {
        let kind = match text(block, "type")? {
            "text" if is_blank(text(block, "text")?) => {
                return Err("a text is blank".to_owned());
            }
            "text" => {
                answer.text.push_str(text(block, "text")?);
                PartKind::Text
            }
            "thinking" => {
                text(block, "thinking")?;
                if text(block, "signature")?.is_empty() {
                    return Err(format!("a thought is not signed: {block}"));
                }
                answer.thoughts.push(block.clone());
                PartKind::Thought
            }
            "redacted_thinking" => {
                text(block, "data")?;
                answer.thoughts.push(block.clone());
                PartKind::Thought
            }
            "tool_use" => {
                let (id, name) = (text(block, "id")?, text(block, "name")?);
                let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                if !id.chars().all(legal) {
                    return Err(format!("the id {id:?} is not one"));
                }
                let arguments = block["input"].to_string();
                answer.calls.push((id.to_owned(), name.to_owned(), arguments));
                PartKind::Call
            }
            kind => return Err(format!("a model cannot say {kind}")),
        };
        answer.order.push(kind);
    }
    Ok(answer)
}

/// At most four marks say what is kept, and none is on a thought.
fn marks(body: &Value) -> Result<(), String> {
    let messages = list(body, "messages")?.iter();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    let all = blocks.chain(optional(body, "system")?).chain(optional(body, "tools")?);
    let marked: Vec<_> = all.filter(|block| !block["cache_control"].is_null()).collect();
    let on_thought = marked
        .iter()
        .any(|block| block["type"].as_str().is_some_and(|kind| kind.ends_with("thinking")));
    if marked.len() > 4 || on_thought {
        return Err(format!("{} marks say what is kept: {marked:?}", marked.len()));
    }
    Ok(())
}
