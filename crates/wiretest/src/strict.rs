//! What the providers demand of a request, and more strictly than some of them.
//!
//! Each language is first read as the same few [`Entry`]s; the rules are then the
//! same for all:
//! * ids of calls are unique in a request;
//! * right after an answer that calls tools come the results, one for each call
//!   and in the order of the calls, and nothing between them;
//! * tools are declared, arguments are JSON objects, and the last word is not the
//!   model's;
//! * a thought comes back as it was sent, in the answer it belongs to and to the
//!   model that had it, and to no other.

mod anthropic;
mod chat;
mod responses;

use std::collections::HashSet;

use serde_json::Value;

use crate::asked::Asked;
use crate::say::{Language, Said};

/// A part of a request, whatever its language.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// What a user says.
    User,
    /// An answer of a model.
    Answer {
        /// Its thoughts, as they are.
        thoughts: Vec<Value>,
        /// Its text.
        text: String,
        /// Its calls: id, tool and arguments.
        calls: Vec<(String, String, String)>,
    },
    /// The result of the call of this id.
    Result(String),
}

/// A request, whatever its language.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// What was said, in order.
    pub entries: Vec<Entry>,
    /// The tools that are declared.
    pub tools: Vec<String>,
}

/// Reads a request and checks what only its language demands.
pub fn read(language: Language, body: &Value) -> Result<Request, String> {
    match language {
        Language::Chat => chat::read(body),
        Language::Responses => responses::read(body),
        Language::Anthropic => anthropic::read(body),
    }
}

/// Checks requests against the rules and against what was sent before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strict {
    sent: Vec<(String, Said)>,
}

impl Strict {
    /// Remembers what was answered to this model's callers.
    pub(crate) fn sent(&mut self, model: &str, said: Said) {
        self.sent.push((model.to_owned(), said));
    }

    /// Checks a request. One in a language that is not known passes.
    pub(crate) fn check(&self, asked: &Asked) -> Result<(), String> {
        let Some(language) = Language::of(&asked.path) else {
            return Ok(());
        };
        let request = read(language, &asked.body)?;
        pairs(&request)?;
        for entry in &request.entries {
            if let Entry::Answer { thoughts, text, calls } = entry {
                self.unchanged(asked.model(), &Answered { thoughts, text, calls })?;
            }
        }
        Ok(())
    }

    /// Whether an answer is as it was sent, with the thoughts that this model may
    /// see. One that was never sent is somebody's own; only its thoughts must be
    /// known.
    fn unchanged(&self, model: &str, answer: &Answered<'_>) -> Result<(), String> {
        let alike: Vec<_> = self.sent.iter().filter(|(_, said)| answer.is(said)).collect();
        if alike.is_empty() {
            let known = |thought| self.sent.iter().any(|(_, said)| said.thoughts.contains(thought));
            return match answer.thoughts.iter().find(|thought| !known(thought)) {
                Some(thought) => Err(format!("a thought that was never sent: {thought}")),
                None => Ok(()),
            };
        }
        let same = alike.iter().any(|(whose, said)| {
            let thoughts: &[Value] = if whose == model { &said.thoughts } else { &[] };
            answer.text == said.text && joined(answer.thoughts) == joined(thoughts)
        });
        if same {
            return Ok(());
        }
        let (text, thoughts) = (answer.text, joined(answer.thoughts));
        Err(format!("an answer is {text:?} with the thoughts {thoughts}, but was {alike:?}"))
    }
}

/// Chats run thoughts together; what counts is what is in them.
fn joined(thoughts: &[Value]) -> String {
    match thoughts.iter().map(Value::as_str).collect::<Option<String>>() {
        Some(text) => text.replace('\n', ""),
        None => Value::from(thoughts.to_vec()).to_string(),
    }
}

struct Answered<'a> {
    thoughts: &'a [Value],
    text: &'a str,
    calls: &'a [(String, String, String)],
}

impl Answered<'_> {
    /// Whether it must be this one: it makes the same calls or, without any, says
    /// the same. Arguments that were no JSON are mended on the way.
    fn is(&self, said: &Said) -> bool {
        let object = |text: &str| serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
        let alike = |((_, tool, now), (name, sent)): (&(_, String, String), &(String, String))| {
            tool == name && object(sent).is_none_or(|sent| object(now) == Some(sent))
        };
        self.calls.len() == said.calls.len()
            && self.calls.iter().zip(&said.calls).all(alike)
            && (!self.calls.is_empty() || self.text == said.text)
    }
}

fn pairs(request: &Request) -> Result<(), String> {
    let mut ids = HashSet::new();
    let mut open: std::collections::VecDeque<&str> = Default::default();
    for entry in &request.entries {
        match entry {
            Entry::Result(id) => match open.pop_front() {
                Some(call) if call == id => {}
                Some(call) => return Err(format!("the result of {call:?} is due, not of {id:?}")),
                None => return Err(format!("the result of {id:?} answers no call")),
            },
            Entry::User | Entry::Answer { .. } if !open.is_empty() => {
                return Err(format!("the call {:?} has no result right after it", open[0]));
            }
            Entry::User => {}
            Entry::Answer { calls, .. } => {
                for (id, tool, arguments) in calls {
                    if id.is_empty() || !ids.insert(id.as_str()) {
                        return Err(format!("the id {id:?} is not unique"));
                    }
                    let parsed = serde_json::from_str::<Value>(arguments);
                    if !parsed.is_ok_and(|parsed| parsed.is_object()) {
                        return Err(format!("{id:?} calls {tool} with {arguments:?}"));
                    }
                    if request.tools.is_empty() {
                        return Err("there are calls, but no tools".to_owned());
                    }
                    open.push_back(id);
                }
            }
        }
    }
    if let Some(id) = open.front() {
        return Err(format!("the call {id:?} has no result"));
    }
    let tools: HashSet<_> = request.tools.iter().collect();
    if tools.len() < request.tools.len() || tools.contains(&String::new()) {
        return Err(format!("the tools are not unique: {:?}", request.tools));
    }
    match request.entries.last() {
        Some(Entry::User | Entry::Result(_)) => Ok(()),
        _ => Err("there is nothing to answer".to_owned()),
    }
}

/// A field that must be text.
fn text<'a>(of: &'a Value, field: &str) -> Result<&'a str, String> {
    of[field].as_str().ok_or_else(|| format!("{field} is not a text in {of}"))
}

/// A field that must be a list.
fn list<'a>(of: &'a Value, field: &str) -> Result<&'a [Value], String> {
    of[field].as_array().map(Vec::as_slice).ok_or_else(|| format!("{field} is not a list in {of}"))
}

/// A list that may be missing.
fn optional<'a>(of: &'a Value, field: &str) -> Result<&'a [Value], String> {
    if of[field].is_null() { Ok(&[]) } else { list(of, field) }
}

#[cfg(test)]
mod tests;
