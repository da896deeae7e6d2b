//! An answer, said in one of the providers' languages.

mod anthropic;
mod chat;
mod responses;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::reply::Reply;
use crate::strict::Kind;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
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

impl Say {
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
pub enum Language {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
}

/// What was said, for checking what comes back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) thoughts: Vec<Value>,
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) order: Vec<Kind>,
}

impl Language {
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
    pub fn reply(self, says: &[Say]) -> Reply {
        self.reply_of(says, Tokens::default())
    }

    /// The same, with what it took.
    pub fn reply_of(self, says: &[Say], tokens: Tokens) -> Reply {
        let (events, thoughts) = match self {
            Self::Chat => chat::events(says, tokens),
            Self::Responses => responses::events(says, tokens),
            Self::Anthropic => anthropic::events(says, tokens),
        };
        let texts = says.iter().filter_map(|say| match say {
            Say::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let calls = says.iter().filter_map(|say| match say {
            Say::Call { name, arguments, .. } => Some((name.clone(), arguments.clone())),
            _ => None,
        });
        let order = says.iter().map(|say| match say {
            Say::Text(_) => Kind::Text,
            Say::Thought(_) | Say::Hidden(_) => Kind::Thought,
            Say::Call { .. } => Kind::Call,
        });
        let (calls, order) = (calls.collect(), order.collect());
        let said = Said { thoughts, text: texts.collect(), calls, order };
        Reply { said: Some(said), ..Reply::events(events) }
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

fn calls(says: &[Say]) -> bool {
    says.iter().any(|say| matches!(say, Say::Call { .. }))
}
