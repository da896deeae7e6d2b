//! Questions and approval requests of tasks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::payload::Payload;
use crate::scope::Caller;
use crate::time::Stamp;

/// A question of a task, open until it is answered or withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The task that asks.
    pub task: TaskId,
    /// Its number among the task's questions, counted from 1.
    pub number: u32,
    /// The kind of answer it needs.
    pub wants: QuestionKind,
    /// The party that answers it.
    #[serde(default, skip_serializing_if = "Addressee::is_owner")]
    pub addressee: Addressee,
    /// The text.
    pub text: Arc<str>,
    /// Its exact subject, such as a tool's arguments.
    #[serde(default)]
    pub about: Payload,
    /// The journal key under which a resumed body asks it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// When it was asked.
    pub at: Stamp,
    /// The resolution, if it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Resolution>,
}

impl Question {
    /// Whether both questions have the same text, subject and kind.
    pub fn asks_the_same(&self, other: &Self) -> bool {
        (&self.text, &self.about, self.wants) == (&other.text, &other.about, other.wants)
    }
}

/// The kind of answer that a question needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Text or data.
    Input,
    /// An approval to go on.
    Approval,
}

/// The party that answers a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressee {
    /// The task's owner, in whose inbox the question is.
    #[default]
    Owner,
    /// A person, who looks up open questions. The question is in no inbox, and waiting
    /// bodies are not notified.
    Person,
}

impl Addressee {
    fn is_owner(&self) -> bool {
        *self == Self::Owner
    }
}

/// The resolution of a question. The first one is final.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// It was answered.
    Answered {
        /// The party that answered.
        by: Caller,
        /// The answer.
        answer: Payload,
        /// When.
        at: Stamp,
    },
    /// The task no longer needs the answer.
    Withdrawn {
        /// When.
        at: Stamp,
    },
}
