//! Agents whose models are served by a server on this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot_agent::{Agents, Brief, Budget, KIND, ModelSource, ModelUnavailable};
use offshoot_core::SessionId;
use offshoot_models::{
    AnswerStream, Call, Gate, Gates, Keys, Model, ModelLimits, ModelName, Models,
};
use offshoot_runtime::{Runtime, Session, TaskRef};
use offshoot_store::Memory;
use offshoot_wiretest::{ReceivedRequest, Server, WireProtocol};
use serde_json::Value;

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// All wire protocols.
pub(crate) const ALL: [WireProtocol; 3] =
    [WireProtocol::Chat, WireProtocol::Responses, WireProtocol::Anthropic];

/// The names of models, two in nearly every wire protocol.
pub(crate) const NAMES: [&str; 5] = [
    "openai/gpt-5",
    "openai/gpt-5-mini",
    "openai-responses/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-haiku-4-5",
];

/// Models behind one server.
#[derive(Clone, Debug)]
pub(crate) struct ServedModels {
    models: Models,
    keys: Keys,
    gates: Gates,
    window: Option<u64>,
    /// The shift between a name and its model.
    turned: Arc<AtomicUsize>,
}

impl ServedModels {
    pub(crate) fn at(server: &Server) -> Self {
        Self::with(Models::default(), server)
    }

    pub(crate) fn with(models: Models, server: &Server) -> Self {
        let address = server.address().to_owned();
        let keys = Keys::from_lookup(move |name| match name {
            "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
            "ANTHROPIC_BASE_URL" => Some(address.clone()),
            "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => Some("sk-test".to_owned()),
            _ => None,
        });
        Self { models, keys, gates: Gates::default(), window: None, turned: Arc::default() }
    }

    /// The same, with models that can read this many tokens.
    #[must_use]
    pub(crate) fn of_window(mut self, window: u64) -> Self {
        self.window = Some(window);
        self
    }

    /// Shifts every name to the model this many positions further.
    pub(crate) fn turn(&self, places: usize) {
        self.turned.store(places, Ordering::SeqCst);
    }

    fn turned(&self, model: &ModelName) -> ModelName {
        let name = model.to_string();
        let at = NAMES.iter().position(|known| *known == name);
        let at = at.map(|at| (at + self.turned.load(Ordering::SeqCst)) % NAMES.len());
        at.and_then(|at| NAMES[at].parse().ok()).unwrap_or_else(|| model.clone())
    }
}

/// A model with a smaller context window.
#[derive(Debug)]
struct SmallModel {
    model: Arc<dyn Model>,
    window: u64,
}

impl Model for SmallModel {
    fn name(&self) -> &ModelName {
        self.model.name()
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits { window: self.window, ..self.model.limits() }
    }

    fn call(&self, call: Call) -> AnswerStream {
        self.model.call(call)
    }
}

/// A model that uses this wire protocol.
pub(crate) fn model(language: WireProtocol) -> ModelName {
    let name = match language {
        WireProtocol::Chat => "openai/gpt-5",
        WireProtocol::Responses => "openai-responses/gpt-5",
        WireProtocol::Anthropic => "anthropic/claude-sonnet-4-5",
    };
    name.parse().unwrap()
}

impl ModelSource for ServedModels {
    fn find(
        &self,
        model: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        let model = self.turned(model);
        let found = self.models.open(&model, &self.keys);
        let found = found.map_err(|error| ModelUnavailable::Unknown(error.to_string()))?;
        let gate = self.gates.before(model.provider(), &self.keys);
        Ok(match self.window {
            Some(window) => (Arc::new(SmallModel { model: found, window }), gate),
            None => (found, gate),
        })
    }
}

/// A runtime whose agents call a server.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) session: Session,
    pub(crate) agents: Agents,
    model: ModelName,
}

impl World {
    pub(crate) async fn at(server: &Server, language: WireProtocol) -> Self {
        let agents = Agents::new(ServedModels::at(server));
        let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
        let runtime = runtime.open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        Self { runtime, session, agents, model: model(language) }
    }

    /// An agent with this task.
    pub(crate) async fn agent(&self, task: &str) -> TaskRef {
        self.agent_within(task, Budget::default()).await
    }

    /// An agent with this task within a budget.
    pub(crate) async fn agent_within(&self, task: &str, budget: Budget) -> TaskRef {
        let brief = Brief::new(self.model.clone(), task).budget(budget);
        self.session.spawn(self.agents.request(&brief).unwrap()).await.unwrap()
    }
}

/// The first text of the requesting agent's conversation, which tells agents apart.
pub(crate) fn purpose(asked: &ReceivedRequest) -> String {
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
