//! Concurrent callers, each taking one task after another through its whole life.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use offshoot::{BodyError, DataDir, Runtime, Session, Sqlite};
use tokio::task::JoinSet;

use crate::writer;

/// The time that a store has to close.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The moment at which callers stop starting tasks. Started tasks are finished.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After this time.
    Elapsed(Duration),
    /// After this many tasks.
    Begun(usize),
}

/// The combined work of the callers.
#[derive(Debug)]
pub struct Done {
    /// Whole lifecycles.
    pub lifecycles: usize,
    /// The time from the first spawn until the last acknowledgement.
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

/// The store in this directory, on disk, as a program opens it.
pub fn on_disk(folder: &Path) -> DataDir {
    Sqlite::at(folder)
}

/// Opens a runtime on the store with default settings, runs the callers, and closes it.
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

/// Runs one caller. Returns its number of lifecycles.
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
