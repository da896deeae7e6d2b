//! Questions that a task asks and somebody answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::payload::Payload;
use crate::scope::Caller;
use crate::time::Stamp;

/// A question, open until it is answered or withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Who asks.
    pub task: TaskId,
    /// Which of its questions this is, counted from 1.
    pub number: u32,
    /// Whether it asks for leave or for words.
    pub wants: Wants,
    /// Before whom it is put.
    #[serde(default, skip_serializing_if = "Addressee::is_owner")]
    pub addressee: Addressee,
    /// What it asks.
    pub text: Arc<str>,
    /// The exact matter it is bound to, such as a tool's arguments.
    #[serde(default)]
    pub about: Payload,
    /// The journal key under which a resumed body asks it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// When it was asked.
    pub at: Stamp,
    /// How it was closed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Closed>,
}

impl Question {
    /// Whether another question asks the same, whenever and however often.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        (&self.text, &self.about, self.wants) == (&other.text, &other.about, other.wants)
    }
}

/// Whether a question asks for leave or for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// An answer.
    Input,
    /// Leave to go on.
    Approval,
}

/// Before whom a question is put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressee {
    /// The owner of whoever asks: it is in its inbox.
    #[default]
    Owner,
    /// A person, who finds it by looking. It is in no inbox, and no body that
    /// waits for whoever asks is told of it.
    Person,
}

impl Addressee {
    fn is_owner(&self) -> bool {
        *self == Self::Owner
    }
}

/// How a question was closed. The first close stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closed {
    /// Somebody answered.
    Answered {
        /// Who.
        by: Caller,
        /// What.
        answer: Payload,
        /// When.
        at: Stamp,
    },
    /// Nobody needs the answer any more.
    Withdrawn {
        /// When.
        at: Stamp,
    },
}
