//! Agents as a kind of task.

use std::sync::Arc;

use offshoot_core::{Capabilities, Recovery};
use offshoot_runtime::{Backend, BoxFuture, Context, Ended};

use crate::agents::Seat;
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

    fn start(&self, cx: Context) -> BoxFuture<Ended> {
        let seat = self.seat.clone();
        Box::pin(async move { Life::begin(seat, cx).await?.live().await })
    }
}
