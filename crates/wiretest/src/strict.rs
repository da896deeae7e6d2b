//! What the providers demand of a request, and more strictly than some of them.
//!
//! Each language is first read as the same few [`RequestEntry`]s; the rules are then the
//! same for all:
//! * ids of calls are unique in a request;
//! * right after an answer that calls tools come the results, one for each call
//!   and in the order of the calls, and nothing between them;
//! * tools are declared, arguments are JSON objects, and neither the first word
//!   nor the last is the model's, nor are two answers side by side;
//! * nothing that is said is blank, in results neither;
//! * an answer comes back as it was sent, its parts in their order; a thought goes
//!   to the model that had it, byte for byte, and to no other;
//! * a notice is a text of the user's alone, and the end of a task is told in one
//!   notice; a summary is the first word of all, and two answers follow it.

mod anthropic;
mod chat;
mod responses;
mod words;

use std::collections::HashSet;

use serde_json::Value;

pub use crate::answer::PartKind;

use crate::answer::SentAnswer;
use crate::protocol::WireProtocol;
use crate::request::ReceivedRequest;

/// A part of a request, whatever its language.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestEntry {
    /// What a user says: its texts.
    User(Vec<String>),
    /// An answer of a model.
    Answer(ReceivedAnswer),
    /// The result of the call of this id.
    Result(String),
}

/// An answer of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceivedAnswer {
    /// Its thoughts, as they are.
    pub thoughts: Vec<Value>,
    /// Its text.
    pub text: String,
    /// Its calls: id, tool and arguments.
    pub calls: Vec<(String, String, String)>,
    /// What it consists of, where the language has an order for it.
    pub order: Vec<PartKind>,
}

/// A request, whatever its language.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedRequest {
    /// What was said, in order.
    pub entries: Vec<RequestEntry>,
    /// The tools that are declared.
    pub tools: Vec<String>,
}

/// Reads a request and checks what only its language demands.
pub fn read(language: WireProtocol, body: &Value) -> Result<ParsedRequest, String> {
    match language {
        WireProtocol::Chat => chat::read(body),
        WireProtocol::Responses => responses::read(body),
        WireProtocol::Anthropic => anthropic::read(body),
    }
}

/// Whose answers a request may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Those that were sent, and no others.
    #[default]
    Sent,
    /// Any: the test makes up histories.
    Any,
}

/// Checks requests against the rules and against what was sent before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strict {
    sent: Vec<(Speaker, SentAnswer)>,
    answers: Answers,
}

/// A model, by its language and its name.
type Speaker = (WireProtocol, String);

impl Strict {
    /// A check of requests that may hold such answers.
    pub(crate) fn new(answers: Answers) -> Self {
        Self { sent: Vec::new(), answers }
    }

    /// Remembers what was answered to this request.
    pub(crate) fn sent(&mut self, asked: &ReceivedRequest, said: SentAnswer) {
        if let Some(language) = WireProtocol::of(&asked.path) {
            self.sent.push(((language, asked.model().to_owned()), said));
        }
    }

    /// Checks a request. One in a language that is not known passes.
    pub(crate) fn check(&self, asked: &ReceivedRequest) -> Result<(), String> {
        let Some(language) = WireProtocol::of(&asked.path) else {
            return Ok(());
        };
        let request = read(language, &asked.body)?;
        pairs(&request)?;
        words::check(&request)?;
        let speaker = (language, asked.model().to_owned());
        for entry in &request.entries {
            if let RequestEntry::Answer(answer) = entry {
                self.unchanged(&speaker, answer)?;
            }
        }
        Ok(())
    }

    /// Whether an answer is as it was sent, with the thoughts that this model may
    /// see.
    fn unchanged(&self, to: &Speaker, answer: &ReceivedAnswer) -> Result<(), String> {
        let alike: Vec<_> = self.sent.iter().filter(|(_, said)| is(answer, said)).collect();
        if alike.is_empty() {
            return self.somebodys_own(answer);
        }
        let same = alike.iter().any(|(by, said)| {
            let own = by == to;
            let thoughts: &[Value] = if own { &said.thoughts } else { &[] };
            let seen = |kind: &PartKind| own || *kind != PartKind::Thought;
            answer.text == said.text
                && joined(&answer.thoughts) == joined(thoughts)
                && (answer.order.is_empty()
                    || squeezed(&answer.order, seen) == squeezed(&said.order, seen))
        });
        if same {
            return Ok(());
        }
        let (text, thoughts) = (&answer.text, joined(&answer.thoughts));
        Err(format!(
            "an answer is {text:?} with the thoughts {thoughts} in the order {:?}, but was {alike:?}",
            answer.order
        ))
    }

    /// An answer that was never sent. Its thoughts must be known even then.
    fn somebodys_own(&self, answer: &ReceivedAnswer) -> Result<(), String> {
        let known = |thought| self.sent.iter().any(|(_, said)| said.thoughts.contains(thought));
        match answer.thoughts.iter().find(|thought| !known(thought)) {
            Some(thought) => Err(format!("a thought that was never sent: {thought}")),
            None if self.answers == Answers::Sent => {
                Err(format!("an answer that was never sent: {answer:?}"))
            }
            None => Ok(()),
        }
    }
}

/// The order of the parts that are seen; what is of one kind and side by side
/// may be one part or many.
fn squeezed(order: &[PartKind], seen: impl Fn(&PartKind) -> bool) -> Vec<PartKind> {
    let mut order: Vec<_> = order.iter().copied().filter(seen).collect();
    order.dedup();
    order
}

/// Chats run thoughts together; what counts is what is in them.
fn joined(thoughts: &[Value]) -> String {
    match thoughts.iter().map(Value::as_str).collect::<Option<String>>() {
        Some(text) => text.replace('\n', ""),
        None => Value::from(thoughts.to_vec()).to_string(),
    }
}

/// Whether an answer must be this one: it makes the same calls or, without any,
/// says the same. Arguments that were no JSON are mended on the way.
fn is(answer: &ReceivedAnswer, said: &SentAnswer) -> bool {
    let object = |text: &str| serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let alike = |((_, tool, now), (name, sent)): (&(_, String, String), &(String, String))| {
        tool == name && object(sent).is_none_or(|sent| object(now) == Some(sent))
    };
    answer.calls.len() == said.calls.len()
        && answer.calls.iter().zip(&said.calls).all(alike)
        && (!answer.calls.is_empty() || answer.text == said.text)
}

fn pairs(request: &ParsedRequest) -> Result<(), String> {
    let mut ids = HashSet::new();
    let mut open: std::collections::VecDeque<&str> = Default::default();
    for entry in &request.entries {
        match entry {
            RequestEntry::Result(id) => match open.pop_front() {
                Some(call) if call == id => {}
                Some(call) => return Err(format!("the result of {call:?} is due, not of {id:?}")),
                None => return Err(format!("the result of {id:?} answers no call")),
            },
            RequestEntry::User(_) | RequestEntry::Answer(_) if !open.is_empty() => {
                return Err(format!("the call {:?} has no result right after it", open[0]));
            }
            RequestEntry::User(_) => {}
            RequestEntry::Answer(ReceivedAnswer { calls, .. }) => {
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
    let mut pairs = request.entries.windows(2);
    if pairs.any(|pair| matches!(pair, [RequestEntry::Answer(_), RequestEntry::Answer(_)])) {
        return Err("two answers stand side by side".to_owned());
    }
    if matches!(request.entries.first(), Some(RequestEntry::Answer(_))) {
        return Err("the first word is the model's".to_owned());
    }
    match request.entries.last() {
        Some(RequestEntry::User(_) | RequestEntry::Result(_)) => Ok(()),
        _ => Err("there is nothing to answer".to_owned()),
    }
}

/// A field that must be text.
fn text<'a>(of: &'a Value, field: &str) -> Result<&'a str, String> {
    of[field].as_str().ok_or_else(|| format!("{field} is not a text in {of}"))
}

/// A text that a provider may refuse.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Content that says something: a text or a list of parts, none of them blank.
/// Its texts.
fn spoken(content: &Value) -> Result<Vec<String>, String> {
    let texts: Vec<&str> = match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => return Err(format!("this is no content: {content}")),
    };
    if texts.iter().any(|text| is_blank(text)) {
        return Err(format!("a text is blank: {content}"));
    }
    Ok(texts.into_iter().map(str::to_owned).collect())
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
