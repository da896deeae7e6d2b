//! A runtime with agents on a scripted model.

use std::collections::HashMap;
use std::sync::Arc;

use offshoot_agent::{Agents, Brief, Function, KIND, Tool, ToolContext, ToolError};
use offshoot_core::Caps;
use offshoot_dialects::Dialect;
use offshoot_models::{Call, Message, Part, Role, Scripted, Turn};
use offshoot_runtime::{Runtime, Session, TaskRef};
use offshoot_store::Memory;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// A runtime with agents on a scripted model, and a session.
pub(crate) struct World {
    runtime: Runtime,
    pub(crate) session: Session,
    pub(crate) agents: Agents,
    pub(crate) model: Scripted,
}

impl World {
    /// A world in which `script` answers each call.
    pub(crate) async fn new(script: impl FnMut(&Call) -> Turn + Send + 'static) -> Self {
        Self::with(script, |agents| agents).await
    }

    /// The same with more options for the agents.
    pub(crate) async fn with(
        script: impl FnMut(&Call) -> Turn + Send + 'static,
        say: impl FnOnce(Agents) -> Agents,
    ) -> Self {
        Self::of(Scripted::new(script), say).await
    }

    /// The same on this model.
    pub(crate) async fn of(model: Scripted, say: impl FnOnce(Agents) -> Agents) -> Self {
        let agents = say(Agents::with_model(model.clone()).dialects(Dialect::tool_maps()));
        Self::open((model, agents), Caps::default()).await
    }

    /// The same under these caps.
    pub(crate) async fn under(
        script: impl FnMut(&Call) -> Turn + Send + 'static,
        caps: Caps,
    ) -> Self {
        Self::with_caps(script, |agents| agents, caps).await
    }

    /// The same with more options for the agents.
    pub(crate) async fn with_caps(
        script: impl FnMut(&Call) -> Turn + Send + 'static,
        say: impl FnOnce(Agents) -> Agents,
        caps: Caps,
    ) -> Self {
        let model = Scripted::new(script);
        Self::open(
            (model.clone(), say(Agents::with_model(model).dialects(Dialect::tool_maps()))),
            caps,
        )
        .await
    }

    async fn open((model, agents): (Scripted, Agents), caps: Caps) -> Self {
        let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend()).caps(caps);
        let runtime = runtime.open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        Self { runtime, session, agents, model }
    }

    /// The host, which sees every task.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// An agent with this task.
    pub(crate) async fn agent(&self, task: &str) -> TaskRef {
        self.agent_of(&self.brief(task)).await
    }

    pub(crate) fn brief(&self, task: &str) -> Brief {
        Brief::new("scripted/model".parse().unwrap(), task)
    }

    pub(crate) async fn agent_of(&self, brief: &Brief) -> TaskRef {
        self.session.spawn(self.agents.request(brief).unwrap()).await.unwrap()
    }

    /// A task that is spawned later. Waits for it.
    pub(crate) async fn child(&self, handle: &str) -> TaskRef {
        loop {
            match self.runtime.task(handle).await {
                Ok(child) => return child,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// The final answer of an agent.
    pub(crate) async fn answer(&self, task: &str) -> String {
        self.agent(task).await.wait().await.unwrap().decode().unwrap()
    }
}

/// Resolves when an agent has called a tool.
pub(crate) async fn until_called(agent: &TaskRef, tool: &str) -> Test {
    while !agent.peek().await?.blocks.iter().any(|block| block.name.as_deref() == Some(tool)) {
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// The first text of an agent's conversation, which tells agents apart.
pub(crate) fn purpose(call: &Call) -> &str {
    match call.messages.first().and_then(|message| message.parts.first()) {
        Some(Part::Text { text, .. }) => text,
        _ => "",
    }
}

/// The parts of the last message.
pub(crate) fn last(call: &Call) -> &[Part] {
    call.messages.last().map_or(&[], |message| &message.parts)
}

/// The texts that the model received since its last answer.
pub(crate) fn heard(call: &Call) -> Vec<&str> {
    let texts = last(call).iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        Part::ToolResult(result) => Some(result.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The number of answers of the model in this conversation.
pub(crate) fn answers(call: &Call) -> usize {
    call.messages.iter().filter(|Message { role, .. }| *role == Role::Assistant).count()
}

/// Doors at which agents wait until the test opens them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doors(Arc<Mutex<HashMap<String, Arc<Semaphore>>>>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Door {
    /// The name of the door.
    door: String,
}

impl Doors {
    fn door(&self, name: &str) -> Arc<Semaphore> {
        let mut doors = self.0.lock();
        doors.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(0))).clone()
    }

    /// Lets one more agent through.
    pub(crate) fn open(&self, name: &str) {
        self.door(name).add_permits(1);
    }

    /// Waits at a door until it is open.
    pub(crate) async fn pass(&self, name: &str) {
        self.door(name).acquire().await.unwrap().forget();
    }

    /// Whether one agent could pass.
    pub(crate) fn is_open(&self, name: &str) -> bool {
        self.door(name).available_permits() > 0
    }

    /// The tool with which an agent waits at a door.
    pub(crate) fn tool(&self) -> impl Tool + use<> {
        let doors = self.clone();
        let stand = move |_: ToolContext, Door { door: name }: Door| {
            let door = doors.door(&name);
            async move {
                door.acquire().await.map_err(|error| ToolError::of(&error))?.forget();
                Ok(format!("went through {name}"))
            }
        };
        Function::new("stand", "Stands before a door.", stand).read_only().long_running()
    }
}

/// The whole text of a call.
pub(crate) fn whole(call: &Call) -> String {
    let parts = call.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.map(|part| match part {
        Part::Text { text, .. } => text.clone(),
        Part::ToolResult(result) => result.text.clone(),
        Part::ToolCall(call) => format!("{} {}", call.name, call.arguments),
        other => format!("{other:?}"),
    });
    texts.collect::<Vec<_>>().join("\n")
}
