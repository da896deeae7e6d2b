//! What OpenAI's Responses demand when nothing is stored there.

use serde_json::Value;

use super::{ParsedRequest, PartKind, ReceivedAnswer, RequestEntry, list, optional, spoken, text};

pub(super) fn read(body: &Value) -> Result<ParsedRequest, String> {
    text(body, "model")?;
    if body["stream"] != true || body["store"] != false {
        return Err("a stream of which nothing is stored is not asked for".to_owned());
    }
    let mut entries = Vec::new();
    // What one answer consists of comes as items, side by side.
    let mut answer = Items::default();
    for item in list(body, "input")? {
        match text(item, "type")? {
            "message" if item["role"] == "assistant" => {
                let parts = list(item, "content")?.iter();
                answer.so_far.text.extend(parts.filter_map(|part| part["text"].as_str()));
                answer.begun(item, PartKind::Text)?;
            }
            "message" => {
                spoken(&item["content"])?;
                let texts = list(item, "content")?.iter();
                let texts = texts.map(|part| part["text"].as_str().unwrap_or_default().to_owned());
                answer.end(&mut entries)?;
                entries.push(RequestEntry::User(texts.collect()));
            }
            "reasoning" => {
                if text(item, "encrypted_content")?.is_empty() {
                    return Err(format!("a thought is not there: {item}"));
                }
                list(item, "summary")?;
                answer.so_far.thoughts.push(item.clone());
                answer.so_far.order.push(PartKind::Thought);
                answer.waiting = true;
            }
            "function_call" => {
                let (id, name) = (text(item, "call_id")?, text(item, "name")?);
                let arguments = text(item, "arguments")?.to_owned();
                answer.so_far.calls.push((id.to_owned(), name.to_owned(), arguments));
                answer.begun(item, PartKind::Call)?;
            }
            "function_call_output" => {
                answer.end(&mut entries)?;
                spoken(&item["output"])?;
                entries.push(RequestEntry::Result(text(item, "call_id")?.to_owned()));
            }
            kind => return Err(format!("there is no item {kind}")),
        }
    }
    answer.end(&mut entries)?;
    let tools = optional(body, "tools")?.iter();
    let tools = tools.map(|tool| Ok(text(tool, "name")?.to_owned()));
    Ok(ParsedRequest { entries, tools: tools.collect::<Result<_, String>>()? })
}

#[derive(Default)]
struct Items {
    so_far: ReceivedAnswer,
    any: bool,
    // A thought that waits for the item which it led to.
    waiting: bool,
}

impl Items {
    fn begun(&mut self, item: &Value, kind: PartKind) -> Result<(), String> {
        self.any = true;
        self.so_far.order.push(kind);
        if self.waiting && item["id"].as_str().is_none_or(str::is_empty) {
            return Err(format!("what follows a thought is not the item that did: {item}"));
        }
        self.waiting = false;
        Ok(())
    }

    fn end(&mut self, entries: &mut Vec<RequestEntry>) -> Result<(), String> {
        let ended = std::mem::take(self);
        if ended.waiting {
            return Err("a thought comes without the item that followed it".to_owned());
        }
        if ended.any {
            entries.push(RequestEntry::Answer(ended.so_far));
        }
        Ok(())
    }
}
