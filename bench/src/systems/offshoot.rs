//! Offshoot itself, on the memory store.

use std::future::Future;

use anyhow::{Result, ensure};
use offshoot::core::{Caps, Ceiling, Phase, Task, TaskId, Visibility};
use offshoot::{BodyError, CancelledError, Memory, Runtime, Session, TaskRef};
use tokio::sync::oneshot;

use super::System;
use crate::figure::Outcome;
use crate::workload::Workload;
use crate::workloads::Open;
use crate::workloads::crowd::{self, Crowd, Named};
use crate::workloads::directory::{self, Directory, PAGE};
use crate::workloads::lifecycle::{self, Lifecycle};
use crate::workloads::mailbox::{self, Mailbox, TEXT};
use crate::workloads::tree::{self, Tree};
use crate::workloads::wake::{self, Gate, Wake};

/// This repository's runtime.
pub const SYSTEM: System = System {
    name: super::SUBJECT,
    about: "this repository; memory store, SQLite for D1 to D3",
    notes: &[],
    run: |workload, n| Box::pin(run(workload, n)),
};

/// The number of rows of one drain.
const DRAIN: usize = 1_024;

async fn run(workload: Workload, n: usize) -> Result<Outcome> {
    Ok(match workload {
        Workload::W1 => lifecycle::together::<Offshoot>(n).await?.into(),
        Workload::W2 => crowd::spawn::<Offshoot>(n).await?.into(),
        Workload::W3 => crowd::spawn_named::<Offshoot>(n).await?.into(),
        Workload::W4 => directory::look_up::<Offshoot>(n).await?.into(),
        Workload::W5 => tree::fan::<Offshoot>(n).await?.into(),
        Workload::W5Chain => tree::chain::<Offshoot>(n).await?.into(),
        Workload::W6 => mailbox::deliver::<Offshoot>(n).await?.into(),
        Workload::W7 => wake::latency::<Offshoot>().await?.into(),
        Workload::W8 => crowd::weight_named::<Offshoot>(n).await?.into(),
        Workload::W9 => lifecycle::one_by_one::<Offshoot>(n).await?.into(),
        Workload::D1 | Workload::D2 | Workload::D3 => {
            Outcome::not_offered("the durable store is measured by its own executable")
        }
    })
}

struct Offshoot {
    runtime: Runtime,
    session: Session,
}

impl Open for Offshoot {
    async fn open() -> Result<Self> {
        // The chain of W5 is deeper than the default allows.
        let caps = Caps { depth: 10_000, live: Ceiling::NONE, ..Caps::default() };
        let runtime = Runtime::builder(Memory::new()).caps(caps).open().await?;
        let session = runtime.session("main").await?;
        Ok(Self { runtime, session })
    }
}

impl Lifecycle for Offshoot {
    async fn spawn(&mut self) -> Result<()> {
        self.session.spawn_ephemeral(|_cx| async { Ok::<_, BodyError>(1u32) }).await?;
        Ok(())
    }

    async fn drain(&mut self) -> Result<usize> {
        let rows = self.session.receive(DRAIN).await?;
        rows.ack().await?;
        Ok(rows.len())
    }
}

impl Crowd for Offshoot {
    async fn spawn_idle(&mut self) -> Result<()> {
        self.session
            .spawn_ephemeral(|cx| async move {
                cx.cancelled().await;
                Err::<(), _>(CancelledError)
            })
            .await?;
        Ok(())
    }
}

impl Named for Offshoot {
    async fn spawn_named(&mut self, name: &str) -> Result<()> {
        self.session
            .spawn_ephemeral(|cx| async move {
                cx.cancelled().await;
                Err::<(), _>(CancelledError)
            })
            .name(name)
            .await?;
        Ok(())
    }
}

impl Directory for Offshoot {
    type Id = TaskId;
    type Row = Task;

    async fn fill(&mut self, n: usize) -> Result<Vec<TaskId>> {
        let mut ids = Vec::with_capacity(n);
        for i in 0..n {
            let task = self
                .session
                .spawn_ephemeral(|cx| async move {
                    cx.cancelled().await;
                    Err::<(), _>(CancelledError)
                })
                .name(&format!("agent-{i}"))
                .await?;
            ids.push(task.id());
        }
        Ok(ids)
    }

    async fn get(&mut self, id: &TaskId) -> Result<Option<Task>> {
        Ok(self.runtime.get(*id).await?)
    }

    async fn page(&mut self) -> Result<Vec<Task>> {
        Ok(self.session.tasks().limit(PAGE).await?.items)
    }

    async fn counts(&mut self) -> Result<[usize; 4]> {
        let counts = self.session.counts().await?;
        let of = |phase| counts.of(phase) as usize;
        Ok([
            counts.live() as usize,
            of(Phase::Completed),
            of(Phase::Failed),
            of(Phase::Cancelled) + of(Phase::Lost),
        ])
    }
}

impl Tree for Offshoot {
    type Task = TaskRef;

    async fn spawn_under(&mut self, parent: Option<&TaskRef>) -> Result<TaskRef> {
        let session = self.session.clone().with_visibility(Visibility::Subtree);
        let spawn = session.spawn_ephemeral(|cx| async move {
            cx.cancelled().await;
            Err::<(), _>(CancelledError)
        });
        Ok(match parent {
            Some(parent) => spawn.under(parent).await?,
            None => spawn.await?,
        })
    }

    async fn cancel(&mut self, root: &TaskRef, total: usize) -> Result<()> {
        let reached = root.cancel("enough").await?;
        ensure!(reached == total, "{reached} of {total} tasks were reached");
        // A task ends no earlier than all tasks below it.
        let ended = root.wait().await?;
        ensure!(ended.is_ended(), "the root has not ended");
        let counts = self.session.counts().await?;
        ensure!(counts.live() == 0, "{} tasks are still alive", counts.live());
        Ok(())
    }
}

impl Mailbox for Offshoot {
    type Task = TaskRef;

    async fn spawn_receiver(
        &mut self,
        expected: usize,
        consumed: oneshot::Sender<()>,
    ) -> Result<TaskRef> {
        let receiver = self
            .session
            .spawn_ephemeral(move |cx| async move {
                let mut read = 0;
                while read < expected {
                    let rows = cx.receive(DRAIN).await?;
                    read += rows.len();
                    rows.ack().await?;
                }
                consumed.send(()).ok();
                Ok::<_, BodyError>(read)
            })
            .await?;
        Ok(receiver)
    }

    async fn send(&mut self, to: &TaskRef, count: usize) -> Result<()> {
        for _ in 0..count {
            loop {
                match to.send(TEXT).await {
                    Ok(_) => break,
                    // The inbox is bounded: a sender that is too fast waits.
                    Err(offshoot::Error::Full { .. }) => tokio::task::yield_now().await,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }
}

impl Wake for Offshoot {
    type Task = TaskRef;

    async fn spawn_gated(&mut self, gate: Gate) -> Result<TaskRef> {
        let task = self
            .session
            .spawn_ephemeral(|_cx| async move {
                gate.pass().await;
                Ok::<_, BodyError>(())
            })
            .await?;
        Ok(task)
    }

    fn waiter(&mut self, task: TaskRef) -> impl Future<Output = Result<()>> + Send + use<> {
        async move {
            let waited = task.wait().await?;
            ensure!(waited.is_ended(), "the wait ended early");
            Ok(())
        }
    }

    async fn clear(&mut self) -> Result<()> {
        self.session.drain(DRAIN).await?.ack().await?;
        Ok(())
    }
}
