//! awaken-runtime: `extensions::background::BackgroundTaskManager`.
//!
//! Driven as the crate's own tests do: a `StateStore` with `BackgroundTaskPlugin` installed, the
//! manager bound to it, and an owner inbox, which is the only sign of completion the crate gives.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use awaken_runtime::extensions::background::{
    BackgroundTaskManager, BackgroundTaskPlugin, TaskParentContext, TaskResult, TaskStatus,
    TaskSummary,
};
use awaken_runtime::inbox::{InboxReceiver, inbox_channel};
use awaken_runtime::state::StateStore;
use serde_json::Value;
use tokio::sync::{Mutex, oneshot};

use super::System;
use crate::figure::{Metric, Outcome};
use crate::workload::Workload;
use crate::workloads::Open;
use crate::workloads::crowd::{self, Crowd, Named};
use crate::workloads::directory::{self, Directory, PAGE};
use crate::workloads::lifecycle::{self, Lifecycle};
use crate::workloads::mailbox::{self, Mailbox, TEXT};
use crate::workloads::tree::{self, Tree};
use crate::workloads::wake::{self, Gate, Wake};

/// awaken as published.
pub const SYSTEM: System = System {
    name: "awaken",
    about: "awaken-runtime 0.4.0, `BackgroundTaskManager`",
    notes: &[
        (
            Metric::NamedSpawn,
            "the N others are unnamed: naming them takes quadratic time, and the name check walks \
             every record either way",
        ),
        (Metric::Page, "`list(thread)`: there are no pages"),
        (Metric::Counts, "counted over `list(thread)`"),
        (Metric::Wake, "owner inbox: there is no wait for one task"),
        (Metric::IdleBytes, "unnamed"),
    ],
    run: |workload, n| Box::pin(run(workload, n)),
};

async fn run(workload: Workload, n: usize) -> Result<Outcome> {
    Ok(match workload {
        Workload::W1 => lifecycle::together::<Awaken>(n).await?.into(),
        Workload::W2 => crowd::spawn::<Awaken>(n).await?.into(),
        Workload::W3 => crowd::spawn_named::<Awaken>(n).await?.into(),
        Workload::W4 => directory::look_up::<Awaken>(n).await?.into(),
        Workload::W5 => tree::fan::<Awaken>(n).await?.into(),
        Workload::W5Chain => tree::chain::<Awaken>(n).await?.into(),
        Workload::W6 => mailbox::deliver::<Awaken>(n).await?.into(),
        Workload::W7 => wake::latency::<SharedInbox>().await?.into(),
        Workload::W8 => crowd::weight::<Awaken>(n).await?.into(),
        Workload::W9 => lifecycle::one_by_one::<Awaken>(n).await?.into(),
        Workload::D1 | Workload::D2 | Workload::D3 => {
            Outcome::not_offered("task records are kept in memory")
        }
    })
}

const THREAD: &str = "thread-1";

struct Awaken {
    manager: Arc<BackgroundTaskManager>,
    inbox: InboxReceiver,
}

impl Awaken {
    async fn idle(&self, name: Option<&str>, parent: Option<&String>) -> Result<String> {
        let lineage = TaskParentContext { task_id: parent.cloned(), ..Default::default() };
        let id = self
            .manager
            .spawn(THREAD, "sub_agent", name, "idle", lineage, |context| async move {
                context.cancelled().await;
                TaskResult::Cancelled
            })
            .await?;
        Ok(id)
    }

    async fn receive(&mut self) -> Result<()> {
        self.inbox.recv_or_cancel(None).await.context("the inbox closed")?;
        Ok(())
    }
}

impl Open for Awaken {
    async fn open() -> Result<Self> {
        let store = StateStore::new();
        let manager = Arc::new(BackgroundTaskManager::new());
        manager.set_store(store.clone());
        store.install_plugin(BackgroundTaskPlugin::new(Arc::clone(&manager)))?;
        let (sender, inbox) = inbox_channel();
        manager.set_owner_inbox(sender);
        Ok(Self { manager, inbox })
    }
}

impl Lifecycle for Awaken {
    async fn spawn(&mut self) -> Result<()> {
        self.manager
            .spawn(THREAD, "noop", None, "noop", TaskParentContext::default(), |_| async {
                TaskResult::Success(Value::Null)
            })
            .await?;
        Ok(())
    }

    async fn drain(&mut self) -> Result<usize> {
        self.receive().await?;
        Ok(1)
    }
}

impl Crowd for Awaken {
    async fn spawn_idle(&mut self) -> Result<()> {
        self.idle(None, None).await?;
        Ok(())
    }
}

impl Named for Awaken {
    async fn spawn_named(&mut self, name: &str) -> Result<()> {
        self.idle(Some(name), None).await?;
        Ok(())
    }

    async fn fill_named(&mut self, n: usize) -> Result<()> {
        crowd::fill(self, n).await
    }
}

impl Directory for Awaken {
    type Id = String;
    type Row = TaskSummary;

    async fn fill(&mut self, n: usize) -> Result<Vec<String>> {
        let mut ids = Vec::with_capacity(n);
        for _ in 0..n {
            ids.push(self.idle(None, None).await?);
        }
        Ok(ids)
    }

    async fn get(&mut self, id: &String) -> Result<Option<TaskSummary>> {
        Ok(self.manager.get(id).await)
    }

    async fn page(&mut self) -> Result<Vec<TaskSummary>> {
        let mut rows = self.manager.list(THREAD).await;
        rows.truncate(PAGE);
        Ok(rows)
    }

    async fn counts(&mut self) -> Result<[usize; 4]> {
        let mut counts = [0; 4];
        for row in self.manager.list(THREAD).await {
            counts[match row.status {
                TaskStatus::Running => 0,
                TaskStatus::Completed => 1,
                TaskStatus::Failed => 2,
                TaskStatus::Cancelled => 3,
            }] += 1;
        }
        Ok(counts)
    }
}

impl Tree for Awaken {
    type Task = String;

    async fn spawn_under(&mut self, parent: Option<&String>) -> Result<String> {
        self.idle(None, parent).await
    }

    async fn cancel(&mut self, root: &String, total: usize) -> Result<()> {
        let reached = self.manager.cancel_tree(root).await;
        ensure!(reached == total, "the cancel reached {reached} tasks of {total}");
        for _ in 0..total {
            self.receive().await?;
        }
        Ok(())
    }
}

impl Mailbox for Awaken {
    type Task = String;

    async fn spawn_receiver(
        &mut self,
        expected: usize,
        consumed: oneshot::Sender<()>,
    ) -> Result<String> {
        let lineage = TaskParentContext::default();
        let id = self
            .manager
            .spawn_agent(THREAD, None, "receiver", lineage, move |_, _, mut inbox| async move {
                for _ in 0..expected {
                    if inbox.recv_or_cancel(None).await.is_none() {
                        return TaskResult::Cancelled;
                    }
                }
                // The measurement is the only listener, and it outlives this task.
                consumed.send(()).ok();
                TaskResult::Success(Value::Null)
            })
            .await?;
        Ok(id)
    }

    async fn send(&mut self, to: &String, count: usize) -> Result<()> {
        for _ in 0..count {
            self.manager.send_task_inbox_message(to, THREAD, "root", TEXT).await?;
        }
        Ok(())
    }
}

/// The waiter of W7 runs as a task of its own and so shares the inbox. It takes the lock before it
/// parks, which keeps the lock out of the wake-up.
struct SharedInbox {
    manager: Arc<BackgroundTaskManager>,
    inbox: Arc<Mutex<InboxReceiver>>,
}

impl Open for SharedInbox {
    async fn open() -> Result<Self> {
        let Awaken { manager, inbox } = Awaken::open().await?;
        Ok(Self { manager, inbox: Arc::new(Mutex::new(inbox)) })
    }
}

impl Wake for SharedInbox {
    type Task = ();

    async fn spawn_gated(&mut self, gate: Gate) -> Result<()> {
        let lineage = TaskParentContext::default();
        self.manager
            .spawn(THREAD, "gated", None, "gated", lineage, |_| async move {
                gate.pass().await;
                TaskResult::Success(Value::Null)
            })
            .await?;
        Ok(())
    }

    fn waiter(&mut self, (): ()) -> impl Future<Output = Result<()>> + Send + use<> {
        let inbox = Arc::clone(&self.inbox);
        async move {
            inbox.lock().await.recv_or_cancel(None).await.context("the inbox closed")?;
            Ok(())
        }
    }
}
