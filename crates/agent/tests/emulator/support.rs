//! Agents whose models an emulator serves, and a proxy before it that checks every request.

use std::sync::Arc;

use offshoot_agent::{
    Agents, Brief, Function, KIND, ModelSource, ModelUnavailable, ToolContext, ToolError,
};
use offshoot_core::SessionId;
use offshoot_models::{Gate, Gates, Keys, Model, ModelName, Models, Timeouts};
use offshoot_runtime::{Runtime, Session, TaskRef};
use offshoot_store::Memory;
use offshoot_wiretest::{Emulator, ReceivedRequest, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// A model for each wire protocol, with a unique name.
pub(crate) const MODELS: [&str; 3] =
    ["openai/gpt-5", "openai-responses/gpt-5-mini", "anthropic/claude-haiku-4-5"];

/// The provider's name for a model.
pub(crate) fn bare(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, bare)| bare)
}

/// The fixtures with which every model answers with these in order, and with the last one from
/// then on.
pub(crate) fn turns(turns: &[Value]) -> Vec<Value> {
    MODELS.iter().flat_map(|model| turns_of(model, turns)).collect()
}

/// The same for one model.
pub(crate) fn turns_of(model: &str, turns: &[Value]) -> Vec<Value> {
    let fixture = |(at, turn): (usize, &Value)| {
        let mut fixture = turn.clone();
        fixture["match"] = json!({"model": bare(model)});
        if at + 1 < turns.len() {
            fixture["match"]["sequenceIndex"] = json!(at);
        }
        fixture
    };
    turns.iter().enumerate().map(fixture).collect()
}

#[derive(Debug)]
struct EmulatedModels {
    models: Models,
    keys: Keys,
    gates: Gates,
}

impl ModelSource for EmulatedModels {
    fn find(
        &self,
        model: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        let found = self.models.open(model, &self.keys);
        let found = found.map_err(|error| ModelUnavailable::Unknown(error.to_string()))?;
        Ok((found, self.gates.before(model.provider(), &self.keys)))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LookArguments {
    path: String,
}

async fn look(_: ToolContext, arguments: LookArguments) -> Result<String, ToolError> {
    Ok(format!("all is well at {}", arguments.path))
}

/// A runtime whose agents call an emulator.
pub(crate) struct World {
    _emulator: Emulator,
    server: Server,
    _runtime: Runtime,
    session: Session,
    agents: Agents,
}

impl World {
    pub(crate) async fn of(fixtures: &[Value]) -> Self {
        Self::with(fixtures, Timeouts::default()).await
    }

    /// The same, with this timeout for models.
    pub(crate) async fn with(fixtures: &[Value], patience: Timeouts) -> Self {
        let emulator = Emulator::start(fixtures).unwrap();
        let server = Server::before(emulator.address()).await.unwrap();
        let address = server.address().to_owned();
        let keys = Keys::from_lookup(move |name| match name {
            "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
            "ANTHROPIC_BASE_URL" => Some(address.clone()),
            name if name.ends_with("_API_KEY") => Some("mock".to_owned()),
            _ => None,
        });
        let models =
            EmulatedModels { models: Models::new(patience), keys, gates: Gates::default() };
        let agents = Agents::new(models).tool(Function::new("look", "Looks.", look).read_only());
        let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
        let runtime = runtime.open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        Self { _emulator: emulator, server, _runtime: runtime, session, agents }
    }

    /// An agent on this model with this task.
    pub(crate) async fn agent(&self, model: &str, task: &str) -> TaskRef {
        let brief = Brief::new(model.parse().unwrap(), task);
        self.session.spawn(self.agents.request(&brief).unwrap()).await.unwrap()
    }

    /// One agent for each model.
    pub(crate) async fn agents(&self, task: &str) -> Vec<(&'static str, TaskRef)> {
        let mut agents = Vec::new();
        for model in MODELS {
            agents.push((model, self.agent(model, task).await));
        }
        agents
    }

    /// The requests to a model so far.
    pub(crate) fn asked(&self, model: &str) -> Vec<ReceivedRequest> {
        let all = self.server.asked();
        all.into_iter().filter(|asked| asked.model() == bare(model)).collect()
    }
}
