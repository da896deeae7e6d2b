//! Agents as a kind of task.

use std::sync::Arc;

use offshoot_core::{Capabilities, Recovery, Task};
use offshoot_models::EndpointMismatch;
use offshoot_runtime::{Backend, BodyResult, BoxFuture, ClearReason, Context};

use crate::agents::{NoModel, Seat};
use crate::brief::{Brief, Isolation};
use crate::life::Life;
use crate::worktree::{self, By};

/// What executes agents.
#[derive(Debug)]
pub struct AgentBackend {
    seat: Arc<Seat>,
}

impl AgentBackend {
    pub(crate) fn new(seat: Arc<Seat>) -> Self {
        Self { seat }
    }

    /// What keeps an agent from its model here: a key that nobody has given, or
    /// another address than the one where it began.
    pub fn missing(&self, task: &Task) -> Option<EndpointMismatch> {
        let brief: Brief = task.spec.input.decode().ok()?;
        match self.seat.find(&brief, task.spec.lineage.session) {
            Err(NoModel::NoKey(differs)) => Some(differs),
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

    fn recovery(&self) -> Recovery {
        Recovery::Resume
    }

    fn tree_limit(&self) -> Option<u64> {
        Some(self.seat.limits.tree)
    }

    fn lacks(&self, task: &Task) -> Option<String> {
        self.missing(task).map(|differs| differs.to_string())
    }

    fn pending(&self, task: &Task) -> Option<String> {
        self.seat.worktrees.as_ref()?.pending(task.id())
    }

    fn ready(&self, task: &Task) -> BoxFuture<()> {
        match task.spec.input.decode::<Brief>() {
            Ok(Brief { model, endpoint, .. }) => {
                let session = task.spec.lineage.session;
                self.seat.catalogue.has_key(&model, session, endpoint.as_ref())
            }
            Err(_) => Box::pin(std::future::ready(())),
        }
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        let seat = self.seat.clone();
        Box::pin(async move {
            let life = Box::pin(Life::begin(seat, cx)).await?;
            match life.tree {
                None => life.live().await,
                Some(_) => Box::pin(isolated(life)).await,
            }
        })
    }

    fn clear(&self, cx: &Context, why: ClearReason) -> BoxFuture<()> {
        // Whoever takes it up again goes on where it stands.
        if why == ClearReason::Released {
            return Box::pin(std::future::ready(()));
        }
        let (seat, cx) = (self.seat.clone(), cx.clone());
        Box::pin(async move {
            let brief = cx.input::<Brief>().await;
            if brief.is_ok_and(|brief| brief.isolation == Isolation::Worktree) {
                worktree::tidy_up(&seat, &cx, By::Runtime).await;
            }
        })
    }
}

/// The life of an agent that works in a worktree of its own, which is tidied up
/// before its end is told.
async fn isolated(life: Box<Life>) -> BodyResult {
    let (seat, cx) = (life.seat.clone(), life.cx.clone());
    let ended = life.live().await;
    worktree::tidy_up(&seat, &cx, By::Body).await;
    ended
}
