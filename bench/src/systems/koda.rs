//! koda-core: `bg_agent::BgAgentRegistry`.
//!
//! The registry does not spawn. The caller reserves a slot, spawns, and attaches the handle; the
//! body reports through `BgStatusEmitter` and a one-shot channel. The bodies here are what the
//! crate's own dispatcher runs, with the model call taken out.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use koda_core::bg_agent::{
    AgentStatus, BgAgentRegistry, BgStatusEmitter, BgTaskSnapshot, WaitOutcome, new_shared,
};
use tokio_util::sync::CancellationToken;

use super::System;
use crate::figure::{Metric, Outcome};
use crate::workload::Workload;
use crate::workloads::Open;
use crate::workloads::crowd::{self, Crowd};
use crate::workloads::directory::{self, Directory, PAGE};
use crate::workloads::lifecycle::{self, Lifecycle};
use crate::workloads::tree::{self, Tree};
use crate::workloads::wake::{self, Gate, Wake};

/// koda as published.
pub const SYSTEM: System = System {
    name: "koda",
    about: "koda-core 0.3.0, `bg_agent::BgAgentRegistry`",
    notes: &[
        (Metric::Lifecycle, "polls `drain_completed`: there is no wait for any of many"),
        (Metric::Get, "`snapshot().find()`: there is no get"),
        (Metric::Page, "`snapshot()`: there are no pages"),
        (Metric::Counts, "counted over `snapshot()`"),
        (Metric::Wake, "`wait_for_completion(id)`"),
        (Metric::IdleBytes, "with the status event of each, not yet drained"),
    ],
    run: |workload, n| Box::pin(run(workload, n)),
};

async fn run(workload: Workload, n: usize) -> Result<Outcome> {
    Ok(match workload {
        Workload::W1 => lifecycle::together::<Koda>(n).await?.into(),
        Workload::W2 => crowd::spawn::<Koda>(n).await?.into(),
        Workload::W3 => Outcome::not_offered("a name is a label: it is not checked and costs W2"),
        Workload::W4 => directory::look_up::<Koda>(n).await?.into(),
        Workload::W5 => tree::fan::<Koda>(n).await?.into(),
        Workload::W5Chain => tree::chain::<Koda>(n).await?.into(),
        Workload::W6 => Outcome::not_offered("no messages to a task"),
        Workload::W7 => wake::latency::<Koda>().await?.into(),
        Workload::W8 => crowd::weight::<Koda>(n).await?.into(),
        Workload::W9 => lifecycle::one_by_one::<Koda>(n).await?.into(),
        Workload::D1 | Workload::D2 | Workload::D3 => {
            Outcome::not_offered("background agents are not stored")
        }
    })
}

struct Koda {
    registry: Arc<BgAgentRegistry>,
    session: CancellationToken,
}

/// A task with the state that its children need.
struct Agent {
    id: u32,
    cancel: CancellationToken,
}

impl Koda {
    /// Spawns `body`, which gets the token that exists once the slot is reserved.
    fn spawn<F>(
        &self,
        parent: Option<&Agent>,
        name: &str,
        body: impl FnOnce(CancellationToken) -> F,
    ) -> Agent
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let spawner = parent.map(|agent| agent.id);
        let slot =
            self.registry.reserve(parent.map_or(&self.session, |agent| &agent.cancel), spawner);
        let agent = Agent { id: slot.task_id, cancel: slot.cancel.clone() };
        let status =
            BgStatusEmitter::new(agent.id, spawner, slot.status_tx, Arc::clone(&self.registry));
        let (result, cancel) = (slot.tx, slot.cancel.clone());
        let body = body(slot.cancel.clone());
        let handle = tokio::spawn(async move {
            status.send(AgentStatus::Running { iter: 0 });
            body.await;
            // The registry drops the receiver of a task it no longer follows.
            if cancel.is_cancelled() {
                status.send(AgentStatus::Cancelled);
                result.send(Err(("cancelled".to_owned(), Vec::new()))).ok();
            } else {
                status.send(AgentStatus::Completed { summary: "ok".to_owned() });
                result.send(Ok(("ok".to_owned(), Vec::new()))).ok();
            }
        });
        self.registry.attach(
            agent.id,
            name,
            "prompt",
            slot.rx,
            slot.cancel,
            slot.status_rx,
            spawner,
            None,
            handle,
        );
        agent
    }

    fn idle(&self, parent: Option<&Agent>, name: &str) -> Agent {
        self.spawn(parent, name, |cancel| async move { cancel.cancelled().await })
    }

    /// Takes the available results; yields if there are none.
    async fn take(&self) -> usize {
        let taken = self.registry.drain_completed().len();
        self.registry.drain_status_events();
        if taken == 0 {
            tokio::task::yield_now().await;
        }
        taken
    }
}

impl Open for Koda {
    async fn open() -> Result<Self> {
        Ok(Self { registry: new_shared(), session: CancellationToken::new() })
    }
}

impl Lifecycle for Koda {
    async fn spawn(&mut self) -> Result<()> {
        Koda::spawn(self, None, "agent", |_| async {});
        Ok(())
    }

    async fn drain(&mut self) -> Result<usize> {
        Ok(self.take().await)
    }
}

impl Crowd for Koda {
    async fn spawn_idle(&mut self) -> Result<()> {
        self.idle(None, "agent");
        Ok(())
    }
}

impl Directory for Koda {
    type Id = u32;
    type Row = BgTaskSnapshot;

    async fn fill(&mut self, n: usize) -> Result<Vec<u32>> {
        Ok((0..n).map(|i| self.idle(None, &format!("agent-{i}")).id).collect())
    }

    async fn get(&mut self, id: &u32) -> Result<Option<BgTaskSnapshot>> {
        Ok(self.registry.snapshot().into_iter().find(|row| row.task_id == *id))
    }

    async fn page(&mut self) -> Result<Vec<BgTaskSnapshot>> {
        let mut rows = self.registry.snapshot();
        rows.truncate(PAGE);
        Ok(rows)
    }

    async fn counts(&mut self) -> Result<[usize; 4]> {
        let mut counts = [0; 4];
        for row in self.registry.snapshot() {
            counts[match row.status {
                AgentStatus::Pending | AgentStatus::Running { .. } => 0,
                AgentStatus::Completed { .. } => 1,
                AgentStatus::Errored { .. } => 2,
                AgentStatus::Cancelled => 3,
            }] += 1;
        }
        Ok(counts)
    }
}

impl Tree for Koda {
    type Task = Agent;

    async fn spawn_under(&mut self, parent: Option<&Agent>) -> Result<Agent> {
        Ok(self.idle(parent, "agent"))
    }

    async fn cancel(&mut self, root: &Agent, total: usize) -> Result<()> {
        ensure!(self.registry.cancel(root.id), "the root is unknown");
        let mut ended = 0;
        while ended < total {
            ended += self.take().await;
        }
        Ok(())
    }
}

impl Wake for Koda {
    type Task = u32;

    async fn spawn_gated(&mut self, gate: Gate) -> Result<u32> {
        Ok(Koda::spawn(self, None, "agent", |_| gate.pass()).id)
    }

    fn waiter(&mut self, task: u32) -> impl Future<Output = Result<()>> + Send + use<> {
        const PATIENCE: Duration = Duration::from_secs(5);
        let registry = Arc::clone(&self.registry);
        async move {
            match registry.wait_for_completion(task, None, PATIENCE).await {
                WaitOutcome::Completed(_) => Ok(()),
                other => bail!("the wait ended with {other:?}"),
            }
        }
    }

    async fn clear(&mut self) -> Result<()> {
        self.registry.drain_status_events();
        Ok(())
    }
}
