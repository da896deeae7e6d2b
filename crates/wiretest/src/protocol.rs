//! An answer, said in one of the providers' languages.

mod anthropic;
mod chat;
mod responses;

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::answer::{PartKind, SentAnswer};
use crate::reply::ScriptedReply;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyPart {
    /// Text.
    Text(String),
    /// A thought that is shown, and signed where the provider does that.
    Thought(String),
    /// A thought that is not shown. A chat has none.
    Hidden(String),
    /// A call of a tool.
    Call {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments, JSON or not.
        arguments: String,
    },
}

impl ReplyPart {
    /// Text.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A thought that is shown.
    pub fn thought(text: &str) -> Self {
        Self::Thought(text.to_owned())
    }

    /// A call of a tool.
    pub fn call(id: &str, name: &str, arguments: &str) -> Self {
        let (id, name) = (id.to_owned(), name.to_owned());
        Self::Call { id, name, arguments: arguments.to_owned() }
    }
}

/// What an answer is said to have taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Read, from a cache or not.
    pub input: u64,
    /// Of that, from a cache.
    pub cached: u64,
    /// Written, thoughts included.
    pub output: u64,
    /// Of that, thoughts.
    pub thought: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 100, cached: 60, output: 20, thought: 7 }
    }
}

/// One of the providers' languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireProtocol {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
}

impl WireProtocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Anthropic];

    /// The language of a path.
    pub fn of(path: &str) -> Option<Self> {
        match path {
            path if path.ends_with("/chat/completions") => Some(Self::Chat),
            path if path.ends_with("/responses") => Some(Self::Responses),
            path if path.ends_with("/messages") => Some(Self::Anthropic),
            _ => None,
        }
    }

    /// An answer that says this, as a stream of events. Calls that follow each
    /// other are mixed where the provider mixes them.
    pub fn reply(self, says: &[ReplyPart]) -> ScriptedReply {
        self.reply_of(says, Tokens::default())
    }

    /// The same, with what it took.
    pub fn reply_of(self, says: &[ReplyPart], tokens: Tokens) -> ScriptedReply {
        let (events, thoughts) = match self {
            Self::Chat => chat::events(says, tokens),
            Self::Responses => responses::events(says, tokens),
            Self::Anthropic => anthropic::events(says, tokens),
        };
        let texts = says.iter().filter_map(|say| match say {
            ReplyPart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let calls = says.iter().filter_map(|say| match say {
            ReplyPart::Call { name, arguments, .. } => Some((name.clone(), arguments.clone())),
            _ => None,
        });
        let order = says.iter().map(|say| match say {
            ReplyPart::Text(_) => PartKind::Text,
            ReplyPart::Thought(_) | ReplyPart::Hidden(_) => PartKind::Thought,
            ReplyPart::Call { .. } => PartKind::Call,
        });
        let (calls, order) = (calls.collect(), order.collect());
        let said = SentAnswer { thoughts, text: texts.collect(), calls, order };
        ScriptedReply { said: Some(said), ..ScriptedReply::events(events) }
    }
}

/// A number that no other answer has.
fn fresh() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A text in pieces of a few letters, as it comes.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(4).map(|piece| piece.iter().collect()).collect()
}

fn calls(says: &[ReplyPart]) -> bool {
    says.iter().any(|say| matches!(say, ReplyPart::Call { .. }))
}
