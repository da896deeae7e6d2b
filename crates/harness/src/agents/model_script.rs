//! The script of the agents' model. The answer follows from the conversation alone, so it is
//! the same at every request.
//!
//! The lead spawns three children, answers a question of one, steers the others, waits for one,
//! and ends when all results are delivered. Each text enters a conversation at a fixed place:
//! an agent that needs it waits for it. Only two things vary: the order of texts that arrive at
//! the same time, and the number of idle turns of an agent meanwhile.
//! to do meanwhile.

use offshoot_wiretest::strict::{self, RequestEntry};
use offshoot_wiretest::{ReceivedRequest, ReplyPart, ScriptedReply, WireProtocol};
use serde_json::{Value, json};

/// The task of the lead.
pub const LEAD: &str = "lead the others";

/// The agents.
pub const CAST: [&str; 4] = ["lead", "a", "b", "c"];

/// The text of the lead's idle turns.
pub const IDLE: &str = "I wait for the others.";

/// The tool with which a child waits for a message.
pub const LISTEN: &str = "listen";

const GO: &str = "go on now";

/// The text with which a child reports that it has begun.
fn hello(name: &str) -> String {
    format!("{name} has begun")
}

/// The task of a child.
fn errand(name: &str) -> String {
    format!("do the work of {name}")
}

/// A conversation as the model finds it.
#[derive(Clone, Debug)]
pub struct ScriptedConversation {
    /// The agent.
    pub who: String,
    /// The number of answers in it.
    pub answers: usize,
    text: String,
}

impl ScriptedConversation {
    /// The conversation in a request.
    pub fn of(asked: &ReceivedRequest) -> Result<Self, String> {
        let language = WireProtocol::of(&asked.path).ok_or("a request in no language")?;
        let entries = strict::read(language, &asked.body)?.entries;
        let answers =
            entries.iter().filter(|entry| matches!(entry, RequestEntry::Answer { .. })).count();
        let purpose = purpose(&asked.body);
        let who = match purpose.as_str() {
            LEAD => Some("lead"),
            other => CAST.into_iter().find(|name| errand(name) == other),
        };
        let who = who.ok_or_else(|| format!("no agent was asked to {purpose:?}"))?.to_owned();
        Ok(Self { who, answers, text: asked.text.replace("\\\"", "\"") })
    }

    fn says(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Whether the conversation has come so far that these calls were made.
    fn has_made(&self, act: &Act) -> bool {
        self.says(&id(act, 0))
    }

    fn has_result_of(&self, name: &str) -> bool {
        self.says(&result_of(name))
    }
}

/// The first text of a conversation.
fn purpose(body: &Value) -> String {
    let said = ["messages", "input"].iter().find_map(|list| body[*list].as_array());
    let first = said.into_iter().flatten().find(|one| one["role"] == "user");
    match first.map(|one| &one["content"]) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let text = parts.iter().find_map(|part| part["text"].as_str());
            text.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// The last text of a child.
fn result_of(name: &str) -> String {
    format!("the work of {name} is done")
}

/// Calls that are made together.
struct Act {
    label: &'static str,
    calls: Vec<(&'static str, Value)>,
}

fn act<const N: usize>(label: &'static str, calls: [(&'static str, Value); N]) -> Act {
    Act { label, calls: calls.into() }
}

fn id(act: &Act, number: usize) -> String {
    format!("call_{}_{}", act.label, number + 1)
}

fn note(line: &str) -> (&'static str, Value) {
    ("note", json!({"line": line}))
}

fn mark(line: &str) -> (&'static str, Value) {
    ("mark", json!({"line": line}))
}

fn tell(to: &str, text: &str) -> (&'static str, Value) {
    ("send_message", json!({"to": to, "text": text}))
}

fn spawn(name: &str) -> (&'static str, Value) {
    ("spawn_agent", json!({"name": name, "task": errand(name)}))
}

/// The answer of the model to a request.
pub fn reply(asked: &ReceivedRequest) -> ScriptedReply {
    let (Some(language), Ok(found)) =
        (WireProtocol::of(&asked.path), ScriptedConversation::of(asked))
    else {
        // A request without an answer breaks a rule.
        return ScriptedReply::default();
    };
    language.reply(&says(&found))
}

fn says(found: &ScriptedConversation) -> Vec<ReplyPart> {
    match found.who.as_str() {
        "lead" => lead(found),
        name => child(found, name),
    }
}

fn lead(found: &ScriptedConversation) -> Vec<ReplyPart> {
    let open = act("open", [spawn("a"), note("lead-1"), spawn("b"), mark("lead-1"), spawn("c")]);
    if !found.has_made(&open) {
        return calls(&open);
    }
    let wait = ("wait_tasks", json!({"tasks": ["a"]}));
    let steer = act("steer", [tell("a", GO), note("lead-2"), wait]);
    if !found.has_made(&steer) {
        let begun = ["a", "c"].iter().all(|name| found.says(&hello(name)));
        let heard = begun && found.says("<notice kind=\"question\"");
        return if heard { calls(&steer) } else { vec![ReplyPart::text(IDLE)] };
    }
    let finish = act("finish", [tell("c", GO), tell("b", "you may")]);
    if let Some(says) = next(found, [act("alone", [note("lead-3")]), finish]) {
        return says;
    }
    match found.has_result_of("b") && found.has_result_of("c") {
        true => vec![ReplyPart::text("all are home")],
        false => vec![ReplyPart::text(IDLE)],
    }
}

fn child(found: &ScriptedConversation, name: &str) -> Vec<ReplyPart> {
    let begun = tell("parent", &hello(name));
    let end = || vec![ReplyPart::text(&result_of(name))];
    let (first, then) = match name {
        "a" => (vec![act("a1", [note("a-1"), begun, mark("a-1")])], Vec::new()),
        "b" => {
            let ask = ("ask", json!({"question": "may I end?"}));
            let two = act("b2", [note("b-2"), note("b-3")]);
            return next(found, [act("b1", [note("b-1")]), two, act("b3", [ask])])
                .unwrap_or_else(end);
        }
        _ => {
            let first = vec![act("c1", [mark("c-1")]), act("c2", [begun])];
            (first, vec![act("c3", [note("c-1")])])
        }
    };
    if let Some(says) = next(found, first) {
        return says;
    }
    if !found.says(GO) {
        return calls(&act(LISTEN, [(LISTEN, json!({}))]));
    }
    next(found, then).unwrap_or_else(end)
}

/// The first of these that was not done yet.
fn next(
    found: &ScriptedConversation,
    acts: impl IntoIterator<Item = Act>,
) -> Option<Vec<ReplyPart>> {
    acts.into_iter().find(|act| !found.has_made(act)).map(|act| calls(&act))
}

fn calls(act: &Act) -> Vec<ReplyPart> {
    let thought = ReplyPart::thought(&format!("now {}", act.label));
    let calls = act.calls.iter().enumerate();
    let calls =
        calls.map(|(at, (tool, with))| ReplyPart::call(&id(act, at), tool, &with.to_string()));
    [thought, ReplyPart::text("I see.")].into_iter().chain(calls).collect()
}
