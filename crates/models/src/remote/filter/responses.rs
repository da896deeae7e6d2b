//! OpenAI's Responses: items by index or id, which are stated again when they are
//! done and once more at the end.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::bound::AnswerBound;

use super::super::ledger::CallLedger;
use super::super::weight::weight;
use super::{Frame, Passes, count_entries, string, text_of};

/// The calls so far; `None` for one that was dropped.
#[derive(Debug, Default)]
pub(super) struct ResponseCalls {
    by_index: HashMap<u64, Option<usize>>,
    by_id: HashMap<String, Option<usize>>,
    last: Option<usize>,
    others: OtherItems,
}

/// How a call is named by an event.
struct CallAddress<'a> {
    index: Option<u64>,
    id: &'a str,
}

impl ResponseCalls {
    pub(super) fn pass(&mut self, mut frame: Frame<'_>) -> Result<Passes, AnswerBound> {
        let kind = string(frame.value, "type").to_owned();
        Ok(match kind.strip_prefix("response.").unwrap_or_default() {
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                if let Some(number) = self.addressed(frame.value) {
                    frame.ledger.push(number, string(frame.value, "delta"));
                }
                Passes::No
            }
            "function_call_arguments.done" | "custom_tool_call_input.done" => {
                let whole = ["arguments", "input"].map(|field| string(frame.value, field));
                let whole = whole.into_iter().find(|whole| !whole.is_empty());
                if let (Some(number), Some(whole)) = (self.addressed(frame.value), whole) {
                    frame.ledger.replace(number, whole);
                }
                Passes::No
            }
            "refusal.delta" => {
                frame.ledger.push_refusal(string(frame.value, "delta"));
                Passes::On
            }
            "output_item.added" => self.added(&mut frame)?,
            "output_item.done" => self.done(&mut frame)?,
            "created" | "queued" | "in_progress" => {
                if let Some(response) =
                    frame.value.get_mut("response").and_then(Value::as_object_mut)
                {
                    response.remove("output");
                }
                Passes::On
            }
            _ => {
                let value = std::mem::take(frame.value);
                *frame.value = self.ended(value, &mut frame)?;
                Passes::On
            }
        })
    }

    /// An item begins. One at an index that another had takes its place.
    fn added(&mut self, frame: &mut Frame<'_>) -> Result<Passes, AnswerBound> {
        let index = frame.value.get("output_index").and_then(Value::as_u64);
        if let Some(index) = index {
            self.by_index.remove(&index);
        }
        let Some(mut item) = frame.value.get_mut("item").map(Value::take) else {
            return Ok(Passes::On);
        };
        let passes = match is_call(&item) {
            true => {
                let number = self.open(index, &item, frame);
                rewrite(&mut item, number, frame)
            }
            false => {
                self.others.add(index, &item, frame.ledger)?;
                Passes::On
            }
        };
        frame.value["item"] = item;
        Ok(passes)
    }

    /// An item is done, and states what it is.
    fn done(&mut self, frame: &mut Frame<'_>) -> Result<Passes, AnswerBound> {
        let index = frame.value.get("output_index").and_then(Value::as_u64);
        let Some(mut item) = frame.value.get_mut("item").map(Value::take) else {
            return Ok(Passes::On);
        };
        let passes = match is_call(&item) {
            true => {
                let known = self.known(&CallAddress { index, id: string(&item, "id") });
                let number = known.unwrap_or_else(|| self.open(index, &item, frame));
                rewrite(&mut item, number, frame)
            }
            false => {
                self.others.finish(index, &item, frame.ledger)?;
                note_refusal(&item, frame);
                Passes::On
            }
        };
        frame.value["item"] = item;
        Ok(passes)
    }

    /// The answer has ended, and is stated whole: in its last event, or as all
    /// there is.
    fn ended(&mut self, mut value: Value, frame: &mut Frame<'_>) -> Result<Value, AnswerBound> {
        let response = match value.get("response").is_some_and(Value::is_object) {
            true => &mut value["response"],
            false => &mut value,
        };
        if let Some(Value::Array(items)) = response.get_mut("output") {
            // Nothing follows, so each is one that is known or one more.
            let others = items.iter().filter(|item| !is_call(item)).count();
            count_entries(&mut 0, others)?;
            for (index, item) in items.iter_mut().enumerate() {
                if !is_call(item) {
                    note_refusal(item, frame);
                    continue;
                }
                let index = u64::try_from(index).ok();
                let known = self.known(&CallAddress { index, id: string(item, "id") });
                let number = known.unwrap_or_else(|| self.open(index, item, frame));
                // The place of a call that is dropped stays, and so those of the
                // others.
                if rewrite(item, number, frame) == Passes::No {
                    *item = Value::Null;
                }
            }
        }
        Ok(value)
    }

    fn open(&mut self, index: Option<u64>, item: &Value, frame: &mut Frame<'_>) -> Option<usize> {
        let number = frame.ledger.open(string(item, "call_id"), string(item, "name"));
        if let Some(index) = index {
            self.by_index.insert(index, number);
        }
        let id = string(item, "id");
        // Those that were dropped are known by their index alone.
        if !id.is_empty() && number.is_some() {
            frame.ledger.count(id.len());
            self.by_id.insert(id.to_owned(), number);
        }
        self.last = number;
        number
    }

    /// The call at this address, if there is one; `None` inside for one that was
    /// dropped.
    fn known(&self, address: &CallAddress<'_>) -> Option<Option<usize>> {
        let by_id = self.by_id.get(address.id).copied();
        by_id.or_else(|| self.by_index.get(&address.index?).copied())
    }

    /// The call that a fragment is for.
    fn addressed(&self, event: &Value) -> Option<usize> {
        let index = event.get("output_index").and_then(Value::as_u64);
        match self.known(&CallAddress { index, id: string(event, "item_id") }) {
            Some(number) => number,
            None => self.last,
        }
    }
}

/// The items that are no calls: messages, thoughts, and what else there is. rig
/// keeps each, and a thought until the item after it is done.
#[derive(Debug, Default)]
struct OtherItems {
    /// The indices of those that are not done.
    open: HashSet<u64>,
    entries: usize,
}

impl OtherItems {
    /// Counts an item that begins.
    fn add(
        &mut self,
        index: Option<u64>,
        item: &Value,
        ledger: &mut CallLedger,
    ) -> Result<(), AnswerBound> {
        self.open.extend(index);
        ledger.count_ahead(weight(item));
        count_entries(&mut self.entries, 1)
    }

    /// Counts an item that is done. One that did not begin at this index is one
    /// more.
    fn finish(
        &mut self,
        index: Option<u64>,
        item: &Value,
        ledger: &mut CallLedger,
    ) -> Result<(), AnswerBound> {
        let text = texts_in(item);
        ledger.count_stated(text);
        ledger.count_ahead(weight(item).saturating_sub(text));
        let begun = index.is_some_and(|index| self.open.remove(&index));
        if begun { Ok(()) } else { count_entries(&mut self.entries, 1) }
    }
}

/// How long the texts of an item are.
fn texts_in(item: &Value) -> usize {
    let fields: &[&str] = match string(item, "type") {
        "message" => &["content"],
        "reasoning" => &["summary", "content"],
        _ => &[],
    };
    let parts = fields.iter().filter_map(|field| item.get(field)).filter_map(Value::as_array);
    let text = |part: &Value| string(part, "text").len().max(string(part, "refusal").len());
    parts.flatten().map(text).sum()
}

fn is_call(item: &Value) -> bool {
    matches!(string(item, "type"), "function_call" | "custom_tool_call")
}

/// Takes the arguments out of an item.
fn rewrite(item: &mut Value, number: Option<usize>, frame: &mut Frame<'_>) -> Passes {
    let Some(number) = number else { return Passes::No };
    frame.ledger.identify(number, string(item, "call_id"), string(item, "name"));
    let stated = text_of(item.get("arguments").or_else(|| item.get("input")));
    if !stated.is_empty() {
        frame.ledger.replace(number, &stated);
    }
    let mark = frame.collect(number, "");
    if let Some(fields) = item.as_object_mut() {
        fields.remove("input");
        fields.insert("type".to_owned(), "function_call".into());
        fields.insert("arguments".to_owned(), Value::String(mark.to_string()));
    }
    Passes::On
}

/// Keeps what a message says in refusing.
fn note_refusal(item: &Value, frame: &mut Frame<'_>) {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    let refusal = parts.map(|part| string(part, "refusal")).find(|said| !said.is_empty());
    if let Some(refusal) = refusal {
        frame.ledger.set_refusal(refusal);
    }
}
