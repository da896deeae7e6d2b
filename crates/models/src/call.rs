//! What is asked of a model.

use serde_json::Value;
use std::sync::Arc;

use crate::message::{Message, Part};

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
    /// The most tokens of the answer. The provider's own limit holds if there is
    /// none.
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

    /// What the conversation begins with: what an agent was asked to do.
    pub fn asked(&self) -> &str {
        self.texts().next().unwrap_or_default()
    }

    /// The last text of the conversation: of a user, a tool or the runtime.
    pub fn last(&self) -> &str {
        self.texts().last().unwrap_or_default()
    }

    /// The results of background tasks in the conversation: how each ended, and
    /// its return value.
    pub fn results(&self) -> Vec<&str> {
        let bodies = self.texts().filter_map(|text| {
            let notice = text.strip_prefix("<notice kind=\"result\"")?;
            let (_, body) = notice.split_once(">\n")?;
            body.strip_suffix("\n</notice>")
        });
        bodies.collect()
    }

    /// The texts of all messages, in their order.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let parts = self.messages.iter().flat_map(|message| &message.parts);
        parts.filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            Part::ToolResult(result) => Some(result.text.as_str()),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_first_prompt_and_the_results() {
        let notice =
            "<notice kind=\"result\" task=\"a\" did=\"1 &gt; 0\">\na completed\n3\n</notice>";
        let said = ["Count.", "<notice kind=\"limit\">\nEnough.\n</notice>", notice];
        let call = Call::new("", said.map(Message::user).to_vec());
        assert_eq!((call.asked(), call.last()), ("Count.", notice));
        assert_eq!(call.results(), ["a completed\n3"]);
        assert_eq!(Call::new("", Vec::new()).asked(), "");
    }
}
