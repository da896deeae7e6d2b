//! The floor: what tokio and a hash map cost with no task runtime on top. Each workload gets the
//! cheapest primitive that does it at all, so the floor keeps no records, lineage or results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

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

/// Raw tokio.
pub const SYSTEM: System = System {
    name: super::FLOOR,
    about: "raw tokio and std: JoinSet, watch, mpsc, CancellationToken, Mutex<HashMap>",
    notes: &[
        (Metric::Lifecycle, "`JoinSet::spawn` + `join_next`"),
        (Metric::Spawn, "`JoinSet::spawn` + `child_token`"),
        (Metric::NamedSpawn, "the same + an insert into a `Mutex<HashMap>` of names"),
        (Metric::Get, "`Mutex<HashMap>` look-up that clones a small row"),
        (Metric::Page, "the first 50 rows of that map, in no order"),
        (Metric::Counts, "counters under a mutex"),
        (Metric::FanCancel, "`CancellationToken` tree + `TaskTracker`"),
        (Metric::Messages, "unbounded `mpsc`"),
        (Metric::Wake, "`watch`"),
        (Metric::IdleBytes, "`JoinSet` + `child_token`, no record"),
    ],
    run: |workload, n| Box::pin(run(workload, n)),
};

async fn run(workload: Workload, n: usize) -> Result<Outcome> {
    Ok(match workload {
        Workload::W1 => lifecycle::together::<Joined>(n).await?.into(),
        Workload::W2 => crowd::spawn::<Parked>(n).await?.into(),
        Workload::W3 => crowd::spawn_named::<Parked>(n).await?.into(),
        Workload::W4 => directory::look_up::<Table>(n).await?.into(),
        Workload::W5 => tree::fan::<Tokens>(n).await?.into(),
        Workload::W5Chain => tree::chain::<Tokens>(n).await?.into(),
        Workload::W6 => mailbox::deliver::<Parked>(n).await?.into(),
        Workload::W7 => wake::latency::<Watched>().await?.into(),
        Workload::W8 => crowd::weight::<Parked>(n).await?.into(),
        Workload::W9 => lifecycle::one_by_one::<Joined>(n).await?.into(),
        Workload::D1 | Workload::D2 | Workload::D3 => Outcome::not_offered("nothing is stored"),
    })
}

/// Tasks whose results come through the set that spawned them.
struct Joined {
    set: JoinSet<u32>,
}

impl Open for Joined {
    async fn open() -> Result<Self> {
        Ok(Self { set: JoinSet::new() })
    }
}

impl Lifecycle for Joined {
    async fn spawn(&mut self) -> Result<()> {
        self.set.spawn(async { 1 });
        Ok(())
    }

    async fn drain(&mut self) -> Result<usize> {
        let result = self.set.join_next().await.context("the set is empty")??;
        Ok(result as usize)
    }
}

/// Tasks that wait for their token, and an index of names.
struct Parked {
    set: JoinSet<()>,
    root: CancellationToken,
    names: Mutex<HashMap<Arc<str>, usize>>,
}

impl Parked {
    fn spawn(&mut self) {
        let token = self.root.child_token();
        self.set.spawn(async move { token.cancelled().await });
    }
}

impl Open for Parked {
    async fn open() -> Result<Self> {
        Ok(Self {
            set: JoinSet::new(),
            root: CancellationToken::new(),
            names: Mutex::new(HashMap::new()),
        })
    }
}

impl Crowd for Parked {
    async fn spawn_idle(&mut self) -> Result<()> {
        self.spawn();
        Ok(())
    }
}

impl Named for Parked {
    async fn spawn_named(&mut self, name: &str) -> Result<()> {
        {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            ensure!(!names.contains_key(name), "`{name}` is taken");
            let position = names.len();
            names.insert(name.into(), position);
        }
        self.spawn();
        Ok(())
    }
}

impl Mailbox for Parked {
    type Task = mpsc::UnboundedSender<String>;

    async fn spawn_receiver(
        &mut self,
        expected: usize,
        consumed: oneshot::Sender<()>,
    ) -> Result<Self::Task> {
        let (sender, mut receiver) = mpsc::unbounded_channel::<String>();
        self.set.spawn(async move {
            for _ in 0..expected {
                if receiver.recv().await.is_none() {
                    return;
                }
            }
            // The measurement is the only listener, and it outlives this task.
            consumed.send(()).ok();
        });
        Ok(sender)
    }

    async fn send(&mut self, to: &Self::Task, count: usize) -> Result<()> {
        for _ in 0..count {
            to.send(TEXT.to_owned())?;
        }
        Ok(())
    }
}

/// A map of small rows; no tasks behind it.
#[derive(Default)]
struct Table {
    rows: Mutex<HashMap<u64, Row>>,
    counts: Mutex<[usize; 4]>,
}

#[derive(Clone)]
#[expect(dead_code, reason = "cloned as a whole, never read")]
struct Row {
    id: u64,
    name: Arc<str>,
    state: u8,
}

impl Open for Table {
    async fn open() -> Result<Self> {
        Ok(Self::default())
    }
}

impl Directory for Table {
    type Id = u64;
    type Row = Row;

    async fn fill(&mut self, n: usize) -> Result<Vec<u64>> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let ids: Vec<u64> = (0..n as u64).collect();
        rows.extend(
            ids.iter().map(|&id| (id, Row { id, name: format!("agent-{id}").into(), state: 0 })),
        );
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = [n, 0, 0, 0];
        Ok(ids)
    }

    async fn get(&mut self, id: &u64) -> Result<Option<Row>> {
        Ok(self.rows.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned())
    }

    async fn page(&mut self) -> Result<Vec<Row>> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(rows.values().take(PAGE).cloned().collect())
    }

    async fn counts(&mut self) -> Result<[usize; 4]> {
        Ok(*self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A tree of tokens with a task at each.
struct Tokens {
    tracker: TaskTracker,
}

impl Open for Tokens {
    async fn open() -> Result<Self> {
        Ok(Self { tracker: TaskTracker::new() })
    }
}

impl Tree for Tokens {
    type Task = CancellationToken;

    async fn spawn_under(&mut self, parent: Option<&CancellationToken>) -> Result<Self::Task> {
        let token = parent.map_or_else(CancellationToken::new, CancellationToken::child_token);
        let cancelled = token.clone();
        self.tracker.spawn(async move { cancelled.cancelled().await });
        Ok(token)
    }

    async fn cancel(&mut self, root: &CancellationToken, total: usize) -> Result<()> {
        ensure!(self.tracker.len() == total, "{} tasks of {total}", self.tracker.len());
        self.tracker.close();
        root.cancel();
        self.tracker.wait().await;
        Ok(())
    }
}

/// Tasks that announce their end on a channel of their own.
struct Watched;

impl Open for Watched {
    async fn open() -> Result<Self> {
        Ok(Self)
    }
}

impl Wake for Watched {
    type Task = watch::Receiver<u32>;

    async fn spawn_gated(&mut self, gate: Gate) -> Result<Self::Task> {
        let (sender, receiver) = watch::channel(0);
        tokio::spawn(async move {
            gate.pass().await;
            // The receiver is gone if the measurement is over.
            sender.send(1).ok();
            // A bare channel does not include the end of the task that sends.
            std::future::pending::<()>().await;
        });
        Ok(receiver)
    }

    fn waiter(&mut self, mut task: Self::Task) -> impl Future<Output = Result<()>> + Send + use<> {
        async move { Ok(task.changed().await?) }
    }
}
