//! A runtime with agents on a scripted model.

use offshoot_agent::{Agents, Brief, KIND};
use offshoot_models::{Call, Message, Part, Role, Scripted, Turn};
use offshoot_runtime::{Runtime, Session, TaskRef};
use offshoot_store::Memory;

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// A runtime with agents on a scripted model, and a session.
pub(crate) struct World {
    // The session ends with it.
    _runtime: Runtime,
    pub(crate) session: Session,
    pub(crate) agents: Agents,
    pub(crate) model: Scripted,
}

impl World {
    /// Each call is answered as `script` says.
    pub(crate) async fn new(script: impl FnMut(&Call) -> Turn + Send + 'static) -> Self {
        Self::with(script, |agents| agents).await
    }

    /// The same with something said about the agents.
    pub(crate) async fn with(
        script: impl FnMut(&Call) -> Turn + Send + 'static,
        say: impl FnOnce(Agents) -> Agents,
    ) -> Self {
        let model = Scripted::new(script);
        let agents = say(Agents::with_model(model.clone()));
        let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
        let runtime = runtime.open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        Self { _runtime: runtime, session, agents, model }
    }

    /// An agent that is asked to do this.
    pub(crate) async fn agent(&self, task: &str) -> TaskRef {
        self.agent_of(&self.brief(task)).await
    }

    pub(crate) fn brief(&self, task: &str) -> Brief {
        Brief::new("scripted/model".parse().unwrap(), task)
    }

    pub(crate) async fn agent_of(&self, brief: &Brief) -> TaskRef {
        self.session.spawn(self.agents.request(brief).unwrap()).await.unwrap()
    }

    /// What an agent answers in the end.
    pub(crate) async fn answer(&self, task: &str) -> String {
        self.agent(task).await.wait().await.unwrap().decode().unwrap()
    }
}

/// What an agent was asked first: tells agents apart.
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

/// The texts that were said to the model since its last answer.
pub(crate) fn heard(call: &Call) -> Vec<&str> {
    let texts = last(call).iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        Part::ToolResult(result) => Some(result.text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// How often the model has answered in this conversation.
pub(crate) fn answers(call: &Call) -> usize {
    call.messages.iter().filter(|Message { role, .. }| *role == Role::Assistant).count()
}
