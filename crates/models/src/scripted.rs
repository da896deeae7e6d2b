//! A model that says what it was told to say: for tests.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::Value;

use crate::answer::{Answer, AnswerEvent, Stop};
use crate::call::Call;
use crate::error::ModelError;
use crate::message::{Part, ToolCall};
use crate::model::{AnswerStream, Model, ModelLimits};
use crate::name::ModelName;
use crate::provider::Provider;
use crate::usage::Usage;

/// How a scripted model answers one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// With this answer.
    Answer(Answer),
    /// With this error, after these pieces.
    Fail(Vec<AnswerEvent>, ModelError),
    /// Not at all, until it is dropped.
    Hang(Vec<AnswerEvent>),
}

impl Turn {
    /// It says this and is done.
    pub fn say(text: impl Into<String>) -> Self {
        Self::parts(vec![Part::text(text)])
    }

    /// It calls these tools at once.
    pub fn call<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Self {
        let calls = calls.into_iter().enumerate().map(|(number, (name, arguments))| {
            let (id, arguments) = (format!("call-{}", number + 1), arguments.to_string());
            Part::ToolCall(ToolCall { id, name: name.into(), arguments, item: Value::Null })
        });
        Self::parts(calls.collect())
    }

    /// It answers with these parts.
    pub fn parts(parts: Vec<Part>) -> Self {
        let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop = if calls { Stop::ToolCalls } else { Stop::Done };
        Self::Answer(Answer { parts, stop, usage: Usage::default() })
    }
}

type Script = dyn FnMut(&Call) -> Turn + Send;

/// A model that says what it was told to say, and remembers what it was asked.
/// An answer that says nothing of its usage takes what its length would.
/// Cheap to clone; clones share both.
#[derive(Clone)]
pub struct Scripted {
    name: ModelName,
    limits: ModelLimits,
    script: Arc<Mutex<Box<Script>>>,
    asked: Arc<Mutex<Vec<Call>>>,
}

impl Scripted {
    /// Answers each call as this says.
    pub fn new(script: impl FnMut(&Call) -> Turn + Send + 'static) -> Self {
        let name = ModelName::new(Provider::Scripted, "model");
        Self {
            // The name is one.
            name: name.unwrap_or_else(|_| unreachable!("a valid name")),
            limits: ModelLimits::default(),
            script: Arc::new(Mutex::new(Box::new(script))),
            asked: Arc::default(),
        }
    }

    /// Answers the first call with the first of these, and so on. A call too
    /// many is told so.
    pub fn of(turns: impl IntoIterator<Item = Turn>) -> Self {
        let mut turns: std::collections::VecDeque<_> = turns.into_iter().collect();
        Self::new(move |_| {
            turns.pop_front().unwrap_or_else(|| {
                let (provider, message) = (Provider::Scripted, "the script is over".to_owned());
                Turn::Fail(Vec::new(), ModelError::BadRequest { provider, message })
            })
        })
    }

    /// What is known of it.
    #[must_use]
    pub fn with_limits(mut self, limits: ModelLimits) -> Self {
        self.limits = limits;
        self
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Call> {
        self.asked.lock().clone()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Model for Scripted {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn call(&self, call: Call) -> AnswerStream {
        let model = self.clone();
        let turn = stream::once(async move {
            let mut turn = (model.script.lock())(&call);
            if let Turn::Answer(answer) = &mut turn
                && answer.usage == Usage::default()
            {
                let output = tokens(&answer.parts);
                answer.usage = Usage { input: read(&call), output, ..Usage::default() };
            }
            model.asked.lock().push(call);
            pieces(turn)
        });
        Box::pin(turn.flatten())
    }
}

/// About how many tokens a call reads.
fn read(call: &Call) -> u64 {
    call.messages.iter().map(|message| tokens(&message.parts)).sum()
}

fn tokens(parts: &[Part]) -> u64 {
    let bytes: usize = parts
        .iter()
        .map(|part| match part {
            Part::Text { text, .. } => text.len(),
            Part::Thought(thought) => thought.text.len(),
            Part::ToolCall(call) => call.arguments.len(),
            Part::ToolResult(result) => result.text.len(),
            Part::Image(_) => 4_000,
        })
        .sum();
    bytes as u64 / 4 + 1
}

fn pieces(turn: Turn) -> AnswerStream {
    match turn {
        Turn::Answer(answer) => {
            let mut pieces: Vec<_> = answer.parts.iter().filter_map(piece).map(Ok).collect();
            pieces.push(Ok(AnswerEvent::Whole(Box::new(answer))));
            Box::pin(stream::iter(pieces))
        }
        Turn::Fail(before, error) => {
            let before = before.into_iter().map(Ok);
            Box::pin(stream::iter(before.chain([Err(error)]).collect::<Vec<_>>()))
        }
        Turn::Hang(before) => {
            Box::pin(stream::iter(before.into_iter().map(Ok)).chain(stream::pending()))
        }
    }
}

fn piece(part: &Part) -> Option<AnswerEvent> {
    match part {
        Part::Text { text, .. } => Some(AnswerEvent::Text(text.clone())),
        Part::Thought(thought) => Some(AnswerEvent::Thought(thought.text.clone())),
        Part::ToolCall(call) => Some(AnswerEvent::Calling(call.name.clone())),
        Part::Image(_) | Part::ToolResult(_) => None,
    }
}
