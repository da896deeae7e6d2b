//! OpenAI's chat completions, and the ways in which others speak them: calls by
//! index, by id, or in the order of their fragments.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::bound::AnswerBound;

use super::super::ledger::CallLedger;
use super::super::weight::{field_weight, weight};
use super::{Frame, Passes, count_entries, string, text_of};

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct ChatCalls {
    open: Vec<OpenCall>,
    details: usize,
    last_detail: Option<ThoughtDetail>,
}

/// The detail of a thought that the next ones may continue.
#[derive(Debug)]
struct ThoughtDetail {
    kind: String,
    index: Option<Value>,
    /// Its fields, and whether each has a value.
    fields: HashMap<String, bool>,
}

#[derive(Debug)]
struct OpenCall {
    index: Option<u64>,
    id: String,
    /// `None` for a call that was dropped.
    number: Option<usize>,
}

/// How many calls that were dropped are remembered by their index or id.
const REMEMBERED: usize = 256;

impl ChatCalls {
    pub(super) fn pass(&mut self, mut frame: Frame<'_>) -> Result<Passes, AnswerBound> {
        let Some(Value::Array(mut choices)) = frame.value.get_mut("choices").map(Value::take)
        else {
            return Ok(Passes::On);
        };
        // rig reads the first choice with this index alone.
        let index = |choice: &Value| choice.get("index").and_then(Value::as_u64);
        let primary = choices.iter().position(|choice| index(choice).is_none_or(|it| it == 0));
        let mut passes = Passes::On;
        for (at, choice) in choices.iter_mut().enumerate() {
            let finishes = choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
            for field in ["delta", "message"] {
                let Some(Value::Object(said)) = choice.get_mut(field) else { continue };
                if Some(at) != primary {
                    said.clear();
                    continue;
                }
                let had_calls = said.contains_key("tool_calls");
                self.rewrite(said, &mut frame)?;
                if had_calls && said.is_empty() && !finishes {
                    passes = Passes::No;
                }
            }
        }
        if frame.value.get("usage").is_some_and(|usage| !usage.is_null()) {
            passes = Passes::On;
        }
        frame.value["choices"] = Value::Array(choices);
        Ok(passes)
    }

    fn rewrite(
        &mut self,
        said: &mut Map<String, Value>,
        frame: &mut Frame<'_>,
    ) -> Result<(), AnswerBound> {
        said.remove("annotations");
        // A text goes on in the next event, so they are counted in each alone.
        for field in ["content", "images"] {
            count_entries(&mut 0, said.get(field).and_then(Value::as_array).map_or(0, Vec::len))?;
        }
        if let Some(Value::String(refusal)) = said.get("refusal") {
            frame.ledger.push_refusal(refusal);
        }
        if let Some(Value::Array(details)) = said.get("reasoning_details") {
            self.count_details(details, frame.ledger)?;
        }
        let Some(Value::Array(calls)) = said.remove("tool_calls") else { return Ok(()) };
        let passed: Vec<_> =
            calls.into_iter().filter_map(|call| self.fragment(call, frame)).collect();
        if !passed.is_empty() {
            said.insert("tool_calls".to_owned(), Value::Array(passed));
        }
        Ok(())
    }

    /// Counts the details of thoughts, which rig keeps until the answer ends, and
    /// adds those that continue the last one to it.
    fn count_details(
        &mut self,
        details: &[Value],
        ledger: &mut CallLedger,
    ) -> Result<(), AnswerBound> {
        for detail in details {
            let Some(fields) = detail.as_object() else {
                count_entries(&mut self.details, 1)?;
                ledger.count_ahead(weight(detail));
                self.last_detail = None;
                continue;
            };
            let (kind, index) = (string(detail, "type"), fields.get("index"));
            let continues = matches!(kind, "reasoning.text" | "reasoning.summary");
            let last = self.last_detail.take();
            let last = last.filter(|it| continues && it.kind == kind && it.index.as_ref() == index);
            let mut last = match last {
                Some(last) => last,
                None => {
                    count_entries(&mut self.details, 1)?;
                    let (kind, index) = (kind.to_owned(), index.cloned());
                    ThoughtDetail { kind, index, fields: HashMap::new() }
                }
            };
            ledger.count_ahead(fields.iter().map(|(name, value)| last.takes(name, value)).sum());
            self.last_detail = Some(last);
        }
        Ok(())
    }

    /// Takes one fragment of a call. What is left to read opens the call, or
    /// brings its name or what else came beside its arguments.
    fn fragment(&mut self, mut call: Value, frame: &mut Frame<'_>) -> Option<Value> {
        let id = match call.get("id") {
            Some(Value::String(id)) if id != "null" => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => String::new(),
        };
        let index = call.get("index").and_then(Value::as_u64);
        let function = call.get("function").or_else(|| call.get("custom")).unwrap_or(&Value::Null);
        let name = string(function, "name").to_owned();
        let arguments = function.get("arguments").or_else(|| function.get("input"));
        let arguments = text_of(arguments);
        let fresh = Fragment { index, id: &id, name: &name, arguments: &arguments };
        let (number, opens) = match self.addressed(&fresh, frame) {
            Some(at) => {
                if self.open[at].id.is_empty() {
                    self.open[at].id.clone_from(&id);
                    frame.ledger.count(id.len());
                }
                (self.open[at].number, Opens::No)
            }
            None => (self.start(&fresh, frame), Opens::Yes),
        };
        let number = number?;
        let [new_id, new_name] = match opens {
            Opens::Yes => [!id.is_empty(), !name.is_empty()],
            Opens::No => frame.ledger.identify(number, &id, &name),
        };
        let mark = frame.collect(number, &arguments);
        let fields = call.as_object_mut()?;
        for known in ["index", "id", "type", "function", "custom"] {
            fields.remove(known);
        }
        frame.ledger.count(fields.values().map(|value| value.to_string().len()).sum());
        // Some providers repeat the name, and some send another id each time.
        if opens == Opens::No && !new_id && !new_name && fields.is_empty() {
            return None;
        }
        let mut function = json!({ "name": if new_name { name } else { String::new() } });
        if opens == Opens::Yes {
            function["arguments"] = Value::String(mark.to_string());
        }
        fields.insert("index".to_owned(), number.into());
        if new_id {
            fields.insert("id".to_owned(), id.into());
        }
        fields.insert("type".to_owned(), "function".into());
        fields.insert("function".to_owned(), function);
        Some(call)
    }

    /// The call that a fragment belongs to: that of its index, unless it brings
    /// another id and a name; else that of its id; else the last one, until its
    /// arguments are whole.
    fn addressed(&self, fresh: &Fragment<'_>, frame: &Frame<'_>) -> Option<usize> {
        let whole =
            |open: &OpenCall| open.number.is_none_or(|number| frame.ledger.is_whole(number));
        if fresh.index.is_some() {
            let at = self.open.iter().rposition(|open| open.index == fresh.index)?;
            let open = &self.open[at];
            let another = !fresh.id.is_empty() && !open.id.is_empty() && open.id != fresh.id;
            return (!another || (fresh.name.is_empty() && !whole(open))).then_some(at);
        }
        if !fresh.id.is_empty() {
            return self.open.iter().rposition(|open| open.id == fresh.id);
        }
        let last = self.open.last()?;
        let starts = !fresh.name.is_empty() || !fresh.arguments.is_empty();
        (!starts || !whole(last)).then(|| self.open.len() - 1)
    }

    fn start(&mut self, fresh: &Fragment<'_>, frame: &mut Frame<'_>) -> Option<usize> {
        let number = frame.ledger.open(fresh.id, fresh.name);
        if self.open.len() < REMEMBERED {
            frame.ledger.count(fresh.id.len());
            self.open.push(OpenCall { index: fresh.index, id: fresh.id.to_owned(), number });
        }
        number
    }
}

impl ThoughtDetail {
    /// How many bytes it takes more for this field of what continues it. Texts are
    /// appended, and other fields are kept as they first came.
    fn takes(&mut self, name: &str, value: &Value) -> usize {
        let stated = !value.is_null() && value.as_str() != Some("");
        match (self.fields.get_mut(name), value) {
            (Some(_), Value::String(more)) if matches!(name, "text" | "summary") => more.len(),
            (Some(known), value) if stated && !*known => {
                *known = true;
                weight(value)
            }
            (Some(_), _) => 0,
            (None, value) => {
                self.fields.insert(name.to_owned(), stated);
                field_weight(name, value)
            }
        }
    }
}

/// What a fragment says of the call that it belongs to.
struct Fragment<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
}

/// Whether a fragment opens its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opens {
    Yes,
    No,
}
