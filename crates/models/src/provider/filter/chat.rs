//! OpenAI's chat completions, and the ways in which others speak them: calls by
//! index, by id, or in the order of their fragments.

use serde_json::{Map, Value, json};

use crate::bound::AnswerBound;

use super::{Frame, Passes, count_entries, string, text_of};

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct ChatCalls {
    open: Vec<OpenCall>,
    details: usize,
    last_detail: Option<(Value, Value)>,
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
        if let Some(Value::String(refusal)) = said.get("refusal") {
            frame.ledger.push_refusal(refusal);
        }
        if let Some(Value::Array(details)) = said.get("reasoning_details") {
            self.count_details(details)?;
        }
        let Some(Value::Array(calls)) = said.remove("tool_calls") else { return Ok(()) };
        let passed: Vec<_> =
            calls.into_iter().filter_map(|call| self.fragment(call, frame)).collect();
        if !passed.is_empty() {
            said.insert("tool_calls".to_owned(), Value::Array(passed));
        }
        Ok(())
    }

    /// Counts the details of thoughts, but for those that continue the last one.
    fn count_details(&mut self, details: &[Value]) -> Result<(), AnswerBound> {
        for detail in details {
            let kind = |field: &str| detail.get(field).cloned().unwrap_or_default();
            let this = (kind("type"), kind("index"));
            let continues = self.last_detail.as_ref() == Some(&this)
                && matches!(this.0.as_str(), Some("reasoning.text" | "reasoning.summary"));
            if !continues {
                count_entries(&mut self.details, 1)?;
                self.last_detail = Some(this);
            }
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
                }
                (self.open[at].number, Opens::No)
            }
            None => (self.start(&fresh, frame), Opens::Yes),
        };
        let number = number?;
        frame.ledger.identify(number, &id, &name);
        let mark = frame.collect(number, &arguments);
        let fields = call.as_object_mut()?;
        for known in ["index", "id", "type", "function", "custom"] {
            fields.remove(known);
        }
        frame.ledger.count(fields.values().map(|value| value.to_string().len()).sum());
        if opens == Opens::No && name.is_empty() && id.is_empty() && fields.is_empty() {
            return None;
        }
        let mut function = json!({ "name": name });
        if opens == Opens::Yes {
            function["arguments"] = Value::String(mark.to_string());
        }
        fields.insert("index".to_owned(), number.into());
        if !id.is_empty() {
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
            self.open.push(OpenCall { index: fresh.index, id: fresh.id.to_owned(), number });
        }
        number
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
