//! The process that is killed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use offshoot_core::{Owner, Task};
use offshoot_runtime::{Runtime, TaskRef};
use offshoot_sqlite::Sqlite;
use offshoot_store::{OpenStore, Store};

use crate::crash::host::Host;
use crate::crash::job::{self, take_in};
use crate::crash::kill_switch::{CommitKillSwitch, Side};
use crate::crash::ledger::{Entry, Ledger, Telling};
use crate::crash::passing;
use crate::crash::stuck;
use crate::planted::{BuggyStore, PlantedBug};
use crate::rng::Rng;

/// The number of programs that use the runtime at once.
const HOSTS: usize = 6;

/// The time after which a cancelled task counts as stuck. It takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The settings of a child.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// The seed of its load.
    pub seed: u64,
    /// The number of its last commit, if there is one.
    pub mine: Option<(u64, Side)>,
    /// The bug in its store, if there is one.
    pub bug: Option<PlantedBug>,
    /// Whether it reports each line of its ledger.
    pub telling: Telling,
    /// Its job.
    pub aim: Aim,
}

/// The job of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// To work until it is killed.
    Work,
    /// To bring every task to its end.
    Finish,
}

/// Runs the load on the store in `folder`, until the process is killed.
pub fn run(folder: &Path, orders: Orders) -> Result<()> {
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no executor")?;
    executor.block_on(live(folder, orders))
}

async fn live(folder: &Path, orders: Orders) -> Result<()> {
    let ledger = Arc::new(Ledger::open(&folder.join("ledger"), orders.telling)?);
    let mut store: Arc<dyn Store> = Sqlite::at(folder.join("data")).open_store().await?;
    if let Some((at, side)) = orders.mine {
        store = Arc::new(CommitKillSwitch::new(store, at, side));
    }
    if let Some(bug) = orders.bug {
        let spawner = Arc::new(|future| drop(tokio::spawn(future)));
        store = Arc::new(BuggyStore::new(store, bug, spawner));
    }
    let runtime = Runtime::builder(store.clone())
        .kind(&job::kind(ledger.clone()))
        .grace(Duration::from_millis(1))
        .open()
        .await?;
    ledger.note(&Entry::Opened)?;
    let mut rng = Rng::new(orders.seed);
    if orders.aim == Aim::Finish {
        return finish(runtime, &*store, ledger, rng).await;
    }
    let runtime = Arc::new(runtime);
    let session = runtime.session("main").await?;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..HOSTS {
        let (session, ledger, rng) = (session.clone(), ledger.clone(), rng.fork());
        let tell = tell.clone();
        tokio::spawn(async move {
            let ended = Host::new(session, ledger, rng).run().await;
            drop(tell.send(ended));
        });
    }
    let passing = passing::run(runtime, ledger, rng);
    tokio::spawn(async move { drop(tell.send(passing.await)) });
    match told.recv().await {
        Some(Err(error)) => bail!("a program could not go on: {error:?}"),
        _ => bail!("a program ended by itself"),
    }
}

/// Waits for the end of a task. A plain wait would return at the task's first question.
async fn last_record(task: &TaskRef) -> Result<Task> {
    let mut watch = task.watch();
    while let Some(record) = watch.next().await {
        let record = record?;
        if !record.is_live() {
            return Ok(record);
        }
    }
    bail!("{} is not there any more", task.id())
}

/// Cancels endless tasks, and reads the inbox until every task has ended.
async fn finish(
    runtime: Runtime,
    store: &dyn Store,
    ledger: Arc<Ledger>,
    mut rng: Rng,
) -> Result<()> {
    let session = runtime.session("main").await?;
    // In half of the runs, the cancel meets tasks that recovery is resuming.
    if rng.happens(500) {
        runtime.recovered().await;
    }
    session.cancel("the end").await?;
    // Recovery finishes the cancels of an earlier process.
    runtime.recovered().await;
    loop {
        let page = runtime.tasks().live().limit(100).await?;
        for task in &page.items {
            let task = runtime.task(&task.id().to_string()).await?;
            match tokio::time::timeout(PATIENCE, last_record(&task)).await {
                Ok(ended) => ledger.note(&Entry::Ended(ended?))?,
                Err(_) => bail!("{}", stuck::describe(&runtime, store, &task).await?),
            }
        }
        if page.items.is_empty() {
            break;
        }
    }
    let owner = Owner::Session(session.id());
    loop {
        let rows = session.drain(64).await?;
        let taken = take_in(&ledger, &rows, owner, |blocks| session.append(blocks)).await;
        if !taken.map_err(|error| anyhow::anyhow!("{error:?}"))? {
            break;
        }
    }
    let passed = passing::finish(&runtime, &ledger).await;
    passed.map_err(|error| anyhow::anyhow!("{error:?}"))?;
    runtime.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}
