//! The backend that executes agents as tasks.

use std::sync::Arc;

use offshoot_core::{Capabilities, Recovery, Task};
use offshoot_models::EndpointMismatch;
use offshoot_runtime::{Backend, BodyResult, BoxFuture, ClearReason, Context};

use crate::agent_loop::AgentLoop;
use crate::brief::{Brief, Isolation};
use crate::isolation::{CleanupCaller, tidy_up};
use crate::model_source::ModelUnavailable;
use crate::tool::AgentShared;

/// The backend that executes agents.
#[derive(Debug)]
pub struct AgentBackend {
    shared: Arc<AgentShared>,
}

impl AgentBackend {
    pub(crate) fn new(shared: Arc<AgentShared>) -> Self {
        Self { shared }
    }

    /// The reason why an agent cannot use its model in this process.
    ///
    /// Either the key is missing, or the address differs from the one it started with.
    pub fn missing(&self, task: &Task) -> Option<EndpointMismatch> {
        let brief: Brief = task.spec.input.decode().ok()?;
        match self.shared.model(&brief, task.spec.lineage.session) {
            Err(ModelUnavailable::NoKey(differs)) => Some(differs),
            _ => None,
        }
    }
}

impl Backend for AgentBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL
            .with(Capabilities::RESUME)
            .with(Capabilities::MESSAGES)
            .with(Capabilities::APPROVALS)
            .with(Capabilities::STRUCTURED_OUTPUT)
            .with(Capabilities::TRANSCRIPT)
    }

    fn agent_description(&self) -> Option<&str> {
        Some("Works on a task with a model and tools.")
    }

    fn recovery(&self) -> Recovery {
        Recovery::Resume
    }

    fn tree_limit(&self) -> Option<u64> {
        Some(self.shared.limits.tree)
    }

    fn lacks(&self, task: &Task) -> Option<String> {
        self.missing(task).map(|differs| differs.to_string())
    }

    fn pending(&self, task: &Task) -> Option<String> {
        self.shared.worktrees.as_ref()?.pending(task.id())
    }

    fn ready(&self, task: &Task) -> BoxFuture<()> {
        match task.spec.input.decode::<Brief>() {
            Ok(Brief { model, endpoint, .. }) => {
                let session = task.spec.lineage.session;
                self.shared.models.has_key(&model, session, endpoint.as_ref())
            }
            Err(_) => Box::pin(std::future::ready(())),
        }
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let agent = Box::pin(AgentLoop::start(shared, cx)).await?;
            match agent.tree {
                None => agent.run().await,
                Some(_) => Box::pin(isolated(agent)).await,
            }
        })
    }

    fn clear(&self, cx: &Context, why: ClearReason) -> BoxFuture<()> {
        // The next attempt continues in the same worktree.
        if why == ClearReason::Released {
            return Box::pin(std::future::ready(()));
        }
        let (shared, cx) = (self.shared.clone(), cx.clone());
        Box::pin(async move {
            let brief = cx.input::<Brief>().await;
            if brief.is_ok_and(|brief| brief.isolation == Isolation::Worktree) {
                tidy_up(&shared, &cx, CleanupCaller::Runtime).await;
            }
        })
    }
}

/// Runs an agent in its own worktree and tidies the worktree up before the agent ends.
async fn isolated(agent: Box<AgentLoop>) -> BodyResult {
    let (shared, cx) = (agent.shared.clone(), agent.cx.clone());
    let ended = agent.run().await;
    tidy_up(&shared, &cx, CleanupCaller::Body).await;
    ended
}
