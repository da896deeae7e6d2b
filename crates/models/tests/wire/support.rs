//! What all of these tests need: a server, a model that asks it, and calls.

use std::sync::Arc;
use std::time::Duration;

use offshoot_models::{
    Answer, AnswerStream, Call, Keys, Message, Model, ModelError, ModelName, Models, Part,
    Timeouts, ToolResult, ToolSpec, whole,
};
use offshoot_wiretest::{ScriptedReply, Server, WireProtocol};
use serde_json::json;

/// A model and the server that it asks.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) models: Models,
    pub(crate) language: WireProtocol,
}

pub(crate) fn provider(language: WireProtocol) -> &'static str {
    match language {
        WireProtocol::Chat => "openai",
        WireProtocol::Responses => "openai-responses",
        WireProtocol::Anthropic => "anthropic",
    }
}

/// Keys that lead to this address.
pub(crate) fn keys(address: &str) -> Keys {
    let address = address.to_owned();
    Keys::from_lookup(move |name| match name {
        "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
        "ANTHROPIC_BASE_URL" | "GOOGLE_GEMINI_BASE_URL" | "OLLAMA_HOST" => Some(address.clone()),
        name if name.ends_with("_API_KEY") => Some("sk-very-secret".to_owned()),
        _ => None,
    })
}

impl World {
    pub(crate) async fn of(
        language: WireProtocol,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        let server = Server::of(replies).await.unwrap();
        Self { server, models: Models::default(), language }
    }

    /// The same, with a server that takes answers which it never gave.
    #[must_use]
    pub(crate) fn with_any_answers(mut self) -> Self {
        self.server = self.server.with_any_answers();
        self
    }

    /// The same, with little patience.
    #[must_use]
    pub(crate) fn hurried(mut self, patience: Timeouts) -> Self {
        self.models = Models::new(patience);
        self
    }

    pub(crate) fn model_named(&self, name: &str) -> Arc<dyn Model> {
        let name: ModelName = format!("{}/{name}", provider(self.language)).parse().unwrap();
        self.models.open(&name, &keys(self.server.address())).unwrap()
    }

    pub(crate) fn model(&self) -> Arc<dyn Model> {
        self.model_named("test-model")
    }

    pub(crate) fn pieces(&self, call: Call) -> AnswerStream {
        self.model().call(call)
    }

    pub(crate) async fn ask(&self, call: Call) -> Result<Answer, ModelError> {
        whole(self.pieces(call)).await
    }
}

/// Little patience of one kind, and very much of the others.
pub(crate) fn patience(change: impl FnOnce(&mut Timeouts)) -> Timeouts {
    let long = Duration::from_secs(3_600);
    let mut patience = Timeouts { first: long, next: long, word: long };
    change(&mut patience);
    patience
}

/// So little that it is soon over.
pub(crate) const SOON: Duration = Duration::from_millis(100);

pub(crate) fn tools() -> Arc<[ToolSpec]> {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: format!("Does {name}.").into(),
        parameters: Arc::new(json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": false,
        })),
    };
    [tool("look"), tool("list")].into()
}

/// A call with tools that says this.
pub(crate) fn call(messages: Vec<Message>) -> Call {
    Call { tools: tools(), ..Call::new("Be brief.", messages) }
}

/// A call that goes on after this answer: every call of it is answered.
pub(crate) fn after(mut call: Call, answer: Answer) -> Call {
    let results: Vec<_> = answer
        .calls()
        .map(|made| ToolResult {
            call: made.id.clone(),
            name: made.name.clone(),
            text: format!("the result of {}", made.id),
            images: Vec::new(),
            failed: false,
        })
        .collect();
    Arc::make_mut(&mut call.messages).push(answer.into_message());
    if !results.is_empty() {
        Arc::make_mut(&mut call.messages).push(Message::results(results));
    }
    Arc::make_mut(&mut call.messages).push(Message::user("go on"));
    call
}

/// What an answer consists of, in short.
pub(crate) fn shown(answer: &Answer) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text { text, .. } => format!("text {text}"),
        Part::Thought(thought) => format!("thought {}", thought.text),
        Part::ToolCall(made) => format!("call {} {} {}", made.id, made.name, made.arguments),
        part => format!("{part:?}"),
    };
    answer.parts.iter().map(part).collect()
}
