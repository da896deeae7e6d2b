//! Agents as a kind of task.

use std::sync::Arc;

use offshoot_core::{Capabilities, Recovery, Task};
use offshoot_runtime::{Backend, BoxFuture, Context, Ended};

use crate::agents::{NoModel, Seat};
use crate::brief::Brief;
use crate::life::Life;

/// What executes agents.
#[derive(Debug)]
pub struct AgentBackend {
    seat: Arc<Seat>,
}

impl AgentBackend {
    pub(crate) fn new(seat: Arc<Seat>) -> Self {
        Self { seat }
    }
}

impl Backend for AgentBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL
            .with(Capabilities::RESUME)
            .with(Capabilities::MESSAGES)
            .with(Capabilities::STRUCTURED_OUTPUT)
            .with(Capabilities::TRANSCRIPT)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Resume
    }

    fn most_in_a_tree(&self) -> Option<u64> {
        Some(self.seat.limits.tree)
    }

    fn lacks(&self, task: &Task) -> Option<String> {
        let brief: Brief = task.spec.input.decode().ok()?;
        match self.seat.find(&brief, task.spec.lineage.session) {
            Err(NoModel::NoKey(words)) => Some(words),
            _ => None,
        }
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

    fn start(&self, cx: Context) -> BoxFuture<Ended> {
        let seat = self.seat.clone();
        Box::pin(async move {
            let life = Box::pin(Life::begin(seat, cx)).await?;
            life.live().await
        })
    }
}
