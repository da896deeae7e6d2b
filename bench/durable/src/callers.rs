//! Concurrent callers, each taking one task after another through its whole life.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use offshoot::{BodyError, DataDir, Runtime, Session, Sqlite};
use tokio::task::JoinSet;

use crate::writer;

/// How long a store may take to close.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// When callers stop taking up new tasks. What is begun is finished.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// So much time is over.
    Elapsed(Duration),
    /// So many tasks are begun.
    Begun(usize),
}

/// What the callers did together.
#[derive(Debug)]
pub struct Done {
    /// Whole lifecycles.
    pub lifecycles: usize,
    /// From the first spawn until the last acknowledgement.
    pub took: Duration,
    /// Processor time of the writer thread.
    pub writer: Duration,
}

impl Done {
    /// Lifecycles per second.
    pub fn rate(&self) -> f64 {
        self.lifecycles as f64 / self.took.as_secs_f64()
    }
}

/// The store in this folder, on disk, as a program gets it.
pub fn on_disk(folder: &Path) -> DataDir {
    Sqlite::at(folder)
}

/// Opens a runtime on the store, with all settings as they come, has the callers at work, and closes it.
pub async fn work(store: DataDir, callers: usize, until: Until) -> Result<Done> {
    let runtime = Runtime::builder(store).open().await?;
    let session = runtime.session("main").await?;
    let begun = Arc::new(AtomicUsize::new(0));
    let (before, started) = (writer::cpu()?, Instant::now());
    let mut running = JoinSet::new();
    for _ in 0..callers {
        running.spawn(call(session.clone(), started, begun.clone(), until));
    }
    let mut lifecycles = 0;
    while let Some(called) = running.join_next().await {
        lifecycles += called??;
    }
    let (took, writer) = (started.elapsed(), writer::cpu()?.saturating_sub(before));
    let counts = session.counts().await?;
    ensure!(counts.live() == 0, "{} tasks are still alive", counts.live());
    ensure!(session.drain(1).await?.is_empty(), "a result is not acknowledged");
    drop(session);
    runtime.shutdown(PATIENCE).await?;
    Ok(Done { lifecycles, took, writer })
}

/// One caller: how many lifecycles it saw through.
async fn call(
    session: Session,
    started: Instant,
    begun: Arc<AtomicUsize>,
    until: Until,
) -> Result<usize> {
    let mut done = 0;
    loop {
        let number = begun.fetch_add(1, Ordering::Relaxed);
        let enough = match until {
            Until::Elapsed(time) => done > 0 && started.elapsed() >= time,
            Until::Begun(tasks) => number >= tasks,
        };
        if enough {
            return Ok(done);
        }
        let task = session.spawn_ephemeral(|_cx| async { Ok::<_, BodyError>(()) }).await?;
        let ended = task.wait().await?;
        ensure!(ended.is_ended(), "the wait ended early");
        ended.ack().await?;
        done += 1;
    }
}
