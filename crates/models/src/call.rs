//! What is asked of a model.

use serde_json::Value;
use std::sync::Arc;

use crate::message::Message;

/// One call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// How it shall behave.
    pub system: Arc<str>,
    /// What was said so far; the last is what it answers.
    pub messages: Arc<Vec<Message>>,
    /// The tools that it has. They are always sent as they are: without them a
    /// history that holds calls is not what it was.
    pub tools: Arc<[ToolSpec]>,
    /// Which of them it may call now.
    pub choice: ToolChoice,
    /// How many tokens it may answer; as many as the provider gives if nobody
    /// says.
    pub max_output: Option<u64>,
    /// What its answer must look like, as a JSON Schema.
    pub schema: Option<Arc<Value>>,
    /// What the provider may keep for the next call.
    pub cache: Cache,
}

/// A tool, as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// What the model calls it.
    pub name: Arc<str>,
    /// What it is for.
    pub description: Arc<str>,
    /// Its arguments, as a JSON Schema.
    pub parameters: Arc<Value>,
}

/// Which tools a model may call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Those it likes, or none.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
}

/// What a provider may keep of a call for the next one, where it has to be
/// told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// Everything up to here: the next call begins with it.
    #[default]
    Prefix,
    /// Nothing.
    Off,
}

impl Call {
    /// A call that says this, with nothing else.
    pub fn new(system: impl Into<Arc<str>>, messages: Vec<Message>) -> Self {
        Self {
            system: system.into(),
            messages: Arc::new(messages),
            tools: Arc::default(),
            choice: ToolChoice::Auto,
            max_output: None,
            schema: None,
            cache: Cache::Prefix,
        }
    }
}
