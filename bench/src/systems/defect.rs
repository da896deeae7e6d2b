//! defect-agent: `session::BackgroundTasks`.

use anyhow::Result;
use defect_agent::session::{
    BackgroundProgressConfig, BackgroundResult, BackgroundTasks, TaskSnapshot, TaskStatus,
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

/// defect as published.
pub const SYSTEM: System = System {
    name: "defect",
    about: "defect-agent 0.1.0-alpha.4, `session::BackgroundTasks`",
    notes: &[
        (Metric::Get, "`peek(id)` of a task without history"),
        (Metric::Page, "`list()`: there are no pages"),
        (Metric::Counts, "counted over `list()`"),
        (Metric::FanCancel, "`cancel_all`: tasks have no parents"),
        (Metric::Wake, "`wait_for_completion()`: any task, one waiter"),
    ],
    run: |workload, n| Box::pin(run(workload, n)),
};

async fn run(workload: Workload, n: usize) -> Result<Outcome> {
    Ok(match workload {
        Workload::W1 => lifecycle::together::<Defect>(n).await?.into(),
        Workload::W2 => crowd::spawn::<Defect>(n).await?.into(),
        Workload::W3 => Outcome::not_offered("a label is not checked and costs W2"),
        Workload::W4 => directory::look_up::<Defect>(n).await?.into(),
        Workload::W5 => tree::fan::<Defect>(n).await?.into(),
        Workload::W5Chain => Outcome::not_offered("tasks have no parents"),
        Workload::W6 => Outcome::not_offered("no messages to a task"),
        Workload::W7 => wake::latency::<Defect>().await?.into(),
        Workload::W8 => crowd::weight::<Defect>(n).await?.into(),
        Workload::W9 => lifecycle::one_by_one::<Defect>(n).await?.into(),
        Workload::D1 | Workload::D2 | Workload::D3 => {
            Outcome::not_offered("background tasks are not stored")
        }
    })
}

struct Defect {
    tasks: BackgroundTasks,
}

impl Defect {
    fn idle(&self, label: String) -> String {
        self.tasks.spawn(label, |cancel, _| async move {
            cancel.cancelled().await;
            BackgroundResult::Failed("cancelled".to_owned())
        })
    }

    async fn take(&self) -> usize {
        self.tasks.wait_for_completion().await;
        self.tasks.drain_completed().len()
    }
}

impl Open for Defect {
    async fn open() -> Result<Self> {
        let session = CancellationToken::new();
        Ok(Self { tasks: BackgroundTasks::new(session, BackgroundProgressConfig::default()) })
    }
}

impl Lifecycle for Defect {
    async fn spawn(&mut self) -> Result<()> {
        self.tasks.spawn("noop".to_owned(), |_, _| async {
            BackgroundResult::Completed("ok".to_owned())
        });
        Ok(())
    }

    async fn drain(&mut self) -> Result<usize> {
        Ok(self.take().await)
    }
}

impl Crowd for Defect {
    async fn spawn_idle(&mut self) -> Result<()> {
        self.idle("agent".to_owned());
        Ok(())
    }
}

impl Directory for Defect {
    type Id = String;
    type Row = TaskSnapshot;

    async fn fill(&mut self, n: usize) -> Result<Vec<String>> {
        Ok((0..n).map(|i| self.idle(format!("agent-{i}"))).collect())
    }

    async fn get(&mut self, id: &String) -> Result<Option<TaskSnapshot>> {
        Ok(self.tasks.peek(id, None))
    }

    async fn page(&mut self) -> Result<Vec<TaskSnapshot>> {
        let mut rows = self.tasks.list();
        rows.truncate(PAGE);
        Ok(rows)
    }

    async fn counts(&mut self) -> Result<[usize; 4]> {
        let mut counts = [0; 4];
        for row in self.tasks.list() {
            counts[match row.status {
                TaskStatus::Running => 0,
                TaskStatus::Completed => 1,
                TaskStatus::Failed => 2,
                TaskStatus::Canceled => 3,
            }] += 1;
        }
        Ok(counts)
    }
}

impl Tree for Defect {
    type Task = ();

    async fn spawn_under(&mut self, _parent: Option<&()>) -> Result<()> {
        self.idle("agent".to_owned());
        Ok(())
    }

    async fn cancel(&mut self, (): &(), total: usize) -> Result<()> {
        self.tasks.cancel_all();
        let mut ended = 0;
        while ended < total {
            ended += self.take().await;
        }
        Ok(())
    }
}

impl Wake for Defect {
    type Task = ();

    async fn spawn_gated(&mut self, gate: Gate) -> Result<()> {
        self.tasks.spawn("gated".to_owned(), |_, _| async move {
            gate.pass().await;
            BackgroundResult::Completed("ok".to_owned())
        });
        Ok(())
    }

    fn waiter(&mut self, (): ()) -> impl Future<Output = Result<()>> + Send + use<> {
        let tasks = self.tasks.clone();
        async move {
            tasks.wait_for_completion().await;
            Ok(())
        }
    }

    async fn clear(&mut self) -> Result<()> {
        self.tasks.drain_completed();
        Ok(())
    }
}
