//! Agents whose models are behind a server on this machine.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, Catalogue, KIND, NoModel};
use offshoot_core::SessionId;
use offshoot_models::{Gate, Keys, Model, ModelName, Models};
use offshoot_runtime::{Runtime, Session, TaskRef};
use offshoot_store::Memory;
use offshoot_wiretest::{Asked, Language, Server};
use serde_json::Value;

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// All languages.
pub(crate) const ALL: [Language; 3] = [Language::Chat, Language::Responses, Language::Anthropic];

/// Models behind one server.
#[derive(Debug)]
pub(crate) struct Here {
    models: Models,
    keys: Keys,
}

impl Here {
    pub(crate) fn at(server: &Server) -> Self {
        let address = server.address().to_owned();
        let keys = Keys::found(move |name| match name {
            "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
            "ANTHROPIC_BASE_URL" => Some(address.clone()),
            "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => Some("sk-test".to_owned()),
            _ => None,
        });
        Self { models: Models::default(), keys }
    }
}

/// A model that speaks this language.
pub(crate) fn model(language: Language) -> ModelName {
    let name = match language {
        Language::Chat => "openai/gpt-5",
        Language::Responses => "openai-responses/gpt-5",
        Language::Anthropic => "anthropic/claude-sonnet-4-5",
    };
    name.parse().unwrap()
}

impl Catalogue for Here {
    fn find(&self, model: &ModelName, _: SessionId) -> Result<(Arc<dyn Model>, Gate), NoModel> {
        let found = self.models.open(model, &self.keys);
        let found = found.map_err(|error| NoModel::Unknown(error.to_string()))?;
        Ok((found, Gate::default()))
    }
}

/// A runtime whose agents ask a server.
pub(crate) struct World {
    // The session ends with it.
    _runtime: Runtime,
    pub(crate) session: Session,
    pub(crate) agents: Agents,
    model: ModelName,
}

impl World {
    pub(crate) async fn at(server: &Server, language: Language) -> Self {
        let agents = Agents::new(Here::at(server));
        let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
        let runtime = runtime.open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        Self { _runtime: runtime, session, agents, model: model(language) }
    }

    /// An agent that is asked to do this.
    pub(crate) async fn agent(&self, task: &str) -> TaskRef {
        let brief = Brief::new(self.model.clone(), task);
        self.session.spawn(self.agents.request(&brief).unwrap()).await.unwrap()
    }
}

/// What the agent that asks was asked first: tells agents apart.
pub(crate) fn purpose(asked: &Asked) -> String {
    let said = ["messages", "input"].iter().find_map(|list| asked.body[*list].as_array());
    let first = said.into_iter().flatten().find(|one| one["role"] == "user");
    text(first.map_or(&Value::Null, |one| &one["content"])).unwrap_or_default()
}

fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            parts.iter().find_map(|part| Some(part["text"].as_str()?.to_owned()))
        }
        _ => None,
    }
}
