//! The script of the models of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot_wiretest::{ReceivedRequest, ReplyPart, ScriptedReply, Tokens, WireProtocol};
use serde_json::{Value, json};

use super::dice::Dice;
use super::seen::Seen;
use crate::support::NAMES;

/// The number of requests after which every model ends.
const REQUESTS: usize = 40;

/// The text of every answer that calls tools.
const CALLS: &str = "some calls";

/// The answers of the models, one request after the other.
pub(super) struct Script {
    dice: Dice,
    asked: usize,
    /// The names of the agents spawned so far.
    names: Vec<String>,
    /// The number of the request that receives half an answer; zero for none.
    hang: Arc<AtomicUsize>,
    seen: Arc<Seen>,
}

impl Script {
    pub(super) fn new(dice: Dice, hang: Arc<AtomicUsize>, seen: Arc<Seen>) -> Self {
        Self { dice, asked: 0, names: Vec::new(), hang, seen }
    }

    /// The answer to this request.
    pub(super) fn next(&mut self, asked: &ReceivedRequest) -> ScriptedReply {
        self.asked += 1;
        let Some(language) = WireProtocol::of(&asked.path) else { return ScriptedReply::default() };
        let answers = asked.text.matches(CALLS).count();
        self.note(asked);
        let hangs = self.hang.compare_exchange(self.asked, 0, Ordering::SeqCst, Ordering::SeqCst);
        if hangs.is_ok() {
            self.seen.cut.add();
            return language.reply(&[ReplyPart::text("a long story")]).only(2).then_hang();
        }
        // The size is that of the conversation, without the system prompt and the tools.
        let said = ["messages", "input"].map(|list| asked.body[list].to_string().len() as u64);
        let tokens = Tokens { input: said.iter().sum::<u64>() / 4, cached: 0, ..Tokens::default() };
        let says = match self.dice.below(24) {
            0 => return status(429, "slow down", "rate_limit_error"),
            1 => return status(503, "come back later", "overloaded_error"),
            _ if sums_up(asked) => self.summary(),
            2 | 3 if answers > 3 => {
                self.seen.too_long.add();
                return status(400, "prompt is too long", "context_length_exceeded");
            }
            _ if self.asked > REQUESTS => vec![ReplyPart::text("enough")],
            _ => self.answer(),
        };
        language.reply_of(&says, tokens)
    }

    fn note(&self, asked: &ReceivedRequest) {
        if sums_up(asked) {
            self.seen.summed.add();
        } else if asked.text.contains("<summary>") {
            self.seen.went_on.add();
        }
    }

    fn summary(&mut self) -> Vec<ReplyPart> {
        match self.dice.below(8) {
            0 => Vec::new(),
            1 => vec![ReplyPart::thought("all of it"), ReplyPart::text("much was done")],
            _ => vec![ReplyPart::text("much was done")],
        }
    }

    fn answer(&mut self) -> Vec<ReplyPart> {
        let mut said = Vec::new();
        match self.dice.below(6) {
            0 | 1 => said.push(ReplyPart::thought("let me see")),
            2 => said.extend([ReplyPart::Hidden("sealed".to_owned()), ReplyPart::thought("hm")]),
            _ => {}
        }
        if self.dice.below(10) < 3 {
            said.push(ReplyPart::text("that is it"));
            return said;
        }
        said.push(ReplyPart::text(CALLS));
        for number in 0..=self.dice.below(3) {
            if self.dice.once_in(6) {
                said.push(ReplyPart::thought("and then"));
            }
            said.push(self.call(number));
        }
        said
    }

    fn call(&mut self, number: u64) -> ReplyPart {
        // Some models repeat their ids from answer to answer.
        let id = match self.dice.once_in(4) {
            true => format!("call_{number}"),
            false => format!("call_{}_{number}", self.asked),
        };
        let (name, arguments) = match self.dice.below(16) {
            0 => ("fly", json!({"to": "the moon"}).to_string()),
            1 => ("list_tasks", "{oops".to_owned()),
            2 | 3 => ("list_tasks", json!({"all": true}).to_string()),
            4 => ("look", json!({"at": "the sea"}).to_string()),
            5 => {
                let mode = self.dice.one_of(&["steer", "interrupt", "follow_up"]);
                let said = json!({"to": self.recipient(), "text": "a word", "mode": mode});
                ("send_message", said.to_string())
            }
            6 => {
                let wait = json!({"tasks": [self.recipient()], "timeout_seconds": 1});
                ("wait_tasks", wait.to_string())
            }
            7 => ("cancel_task", json!({"task": self.recipient()}).to_string()),
            _ => ("spawn_agent", self.errand(number).to_string()),
        };
        ReplyPart::call(&id, name, &arguments)
    }

    fn errand(&mut self, number: u64) -> Value {
        let name = format!("e{}-{number}", self.asked);
        let mut errand = json!({"task": format!("errand {name}"), "name": name});
        self.names.push(name);
        if self.dice.once_in(4) {
            errand["background"] = json!(false);
        }
        if self.dice.once_in(3) {
            errand["context"] = json!("fork");
            self.seen.forked.add();
        }
        if self.dice.once_in(2) {
            errand["model"] = json!(self.dice.one_of(&NAMES));
        }
        errand
    }

    /// The name of any spawned agent, or a word for several agents.
    fn recipient(&mut self) -> String {
        let at = self.dice.below(self.names.len() as u64 + 2) as usize;
        let words = ["all", "parent"];
        self.names.get(at).cloned().unwrap_or_else(|| (*self.dice.one_of(&words)).to_owned())
    }
}

/// Whether the request asks for a compaction.
pub(super) fn sums_up(asked: &ReceivedRequest) -> bool {
    asked.text.contains("Sum up the conversation so far")
}

fn status(status: u16, message: &str, kind: &str) -> ScriptedReply {
    let error = json!({"message": message, "type": kind, "code": kind});
    ScriptedReply::status(
        status,
        &[("retry-after-ms", "5")],
        &json!({"type": "error", "error": error}),
    )
}
