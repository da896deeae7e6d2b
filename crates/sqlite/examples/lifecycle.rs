//! The cost of a lifecycle: spawn, settle with a result row, acknowledge, each
//! answered after its fsync.
//!
//! ```text
//! cargo run --release -p offshoot-sqlite --example lifecycle [tasks [open]]
//! ```
//! Prints lifecycles per second with many callers and with one, on the disk,
//! in memory, and with one transaction for each operation; the writer's CPU
//! time for each lifecycle; the bytes that a finished task leaves behind; and
//! how long a dir with many stored tasks takes to open.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use offshoot_core::{
    Caps, Intent, LiveChildren, Name, Outcome, Owner, Payload, Retention, SessionId, SessionRecord,
    Space, Stamp, Task, TaskId, WorkerId, decide,
};
use offshoot_sqlite::{DataDir, Sqlite};
use offshoot_store::{Ack, Batch, EndWrite, OpenStore, SpawnWrite, Store, Strictness, Write};

type Outcomes<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The source of ids and times.
struct Source {
    drawn: AtomicU64,
    session: SessionRecord,
    worker: WorkerId,
    caps: Arc<Caps>,
}

impl Source {
    fn new() -> Self {
        let now = wall();
        let id = SessionId::mint(now, 1);
        let name = Name::numbered("session", now.as_micros().unsigned_abs());
        Self {
            drawn: AtomicU64::new(now.as_micros().unsigned_abs()),
            session: SessionRecord::new(id, Space::default(), name, now),
            worker: WorkerId::mint(now, 7),
            caps: Arc::new(Caps::default()),
        }
    }

    fn random(&self) -> u128 {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        let mixed = u128::from(drawn).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        mixed ^ mixed >> 61
    }

    fn task(&self) -> Task {
        let now = wall();
        let random = self.random();
        let id = TaskId::mint(now, random);
        let mut spec = offshoot_core::doc::spec("function");
        spec.id = id;
        spec.lineage.session = self.session.id;
        spec.lineage.root = id;
        let number = self.drawn.load(Ordering::Relaxed) % 10_000_000;
        spec.handle = Name::numbered("function", number);
        spec.spawned_at = now;
        offshoot_core::spawn(Arc::new(spec), Some(self.worker), now)
    }

    fn spawn(&self, task: &Task) -> Batch {
        let spawn = SpawnWrite { task: task.clone(), caps: self.caps.clone() };
        Batch::new(wall()).write(Write::Spawn(spawn))
    }

    async fn lifecycle(&self, store: &dyn Store) -> Outcomes<()> {
        let task = self.task();
        store.commit(self.spawn(&task)).await?;
        let now = wall();
        let outcome = Outcome::value(Payload::Null);
        let decision = decide(&task, Intent::Finish(outcome, LiveChildren::None), now)?;
        let owner = Owner::Session(self.session.id);
        let settle =
            Batch::new(now).fenced(task.id(), task.lease.epoch).write(Write::End(EndWrite {
                task: decision.task,
                change: decision.change,
                recipient: owner,
            }));
        store.commit(settle).await?;
        let pending = store.result_row(task.id()).await?;
        let rows = pending.iter().map(|row| row.reference()).collect();
        let ack = Ack { owner, rows, strictness: Strictness::MayBeGone };
        store.commit(Batch::new(wall()).write(Write::Ack(ack))).await?;
        Ok(())
    }
}

fn wall() -> Stamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Stamp::from_micros(now.map_or(0, |now| i64::try_from(now.as_micros()).unwrap_or(0)))
}

struct Measured {
    rate: f64,
    cpu: f64,
}

async fn measure(dir: DataDir, callers: usize, tasks: usize) -> Outcomes<Measured> {
    let store = dir.open_store().await?;
    // A retained result must be in memory long enough to be acknowledged.
    store.set_retention(Retention { in_memory: callers * 4, ..Retention::default() });
    let source = Arc::new(Source::new());
    let opened = Batch::new(wall()).write(Write::OpenSession(Box::new(source.session.clone())));
    store.commit(opened).await?;
    let before = writer_time();
    let started = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let (store, source) = (store.clone(), source.clone());
        running.spawn(async move {
            for _ in 0..tasks / callers {
                source.lifecycle(&*store).await?;
            }
            Outcomes::Ok(())
        });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    let (took, cpu) = (started.elapsed(), writer_time().saturating_sub(before));
    let done = (tasks / callers * callers) as f64;
    store.close(Duration::from_secs(60)).await?;
    Ok(Measured { rate: done / took.as_secs_f64(), cpu: cpu.as_secs_f64() * 1e6 / done })
}

/// The CPU time of the thread that writes: the newest of that name, because
/// the one before it may not be quite gone.
fn writer_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let writers = threads.filter_map(|thread| {
        let path = thread.path();
        let name = std::fs::read_to_string(path.join("comm")).ok()?;
        // Numbers of threads wrap around; when they started does not.
        let stat = std::fs::read_to_string(path.join("stat")).ok()?;
        let started: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        let time = std::fs::read_to_string(path.join("schedstat")).ok()?;
        let time: u64 = time.split_whitespace().next()?.parse().ok()?;
        (name.trim() == "offshoot-writer").then_some((started, time))
    });
    Duration::from_nanos(writers.max().map_or(0, |(_, time)| time))
}

fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

async fn fill(store: &dyn Store, source: &Source, tasks: usize, every: usize) -> Outcomes<()> {
    let opened = Batch::new(wall()).write(Write::OpenSession(Box::new(source.session.clone())));
    store.commit(opened).await?;
    for chunk in (0..tasks).collect::<Vec<_>>().chunks(1_000) {
        let mut spawned = Vec::new();
        let mut batch = Batch::new(wall());
        for number in chunk {
            let task = source.task();
            batch = batch
                .write(Write::Spawn(SpawnWrite { task: task.clone(), caps: source.caps.clone() }));
            if number % every != 0 {
                spawned.push(task);
            }
        }
        store.commit(batch).await?;
        let mut batch = Batch::new(wall());
        for task in spawned {
            let outcome = Outcome::value(Payload::Null);
            let decision = decide(&task, Intent::Finish(outcome, LiveChildren::None), wall())?;
            batch = batch.write(Write::Put(decision.task, decision.change));
        }
        store.commit(batch).await?;
    }
    Ok(())
}

async fn opening(tasks: usize) -> Outcomes<()> {
    let dir = tempfile::tempdir()?;
    let store = Sqlite::at(dir.path()).open_store().await?;
    fill(&*store, &Source::new(), tasks, 10).await?;
    store.close(Duration::from_secs(60)).await?;
    drop(store);
    for _ in 0..2 {
        let started = Instant::now();
        let store = Sqlite::at(dir.path()).open_store().await?;
        let (took, cpu) = (started.elapsed(), writer_time());
        let counts = store.counts_within(None).await?;
        let (live, stored) = (counts.live(), counts.spawned());
        println!("open: {live} live of {stored} stored: {took:.2?}, CPU {cpu:.2?}");
        store.close(Duration::from_secs(60)).await?;
    }
    Ok(())
}

async fn all(tasks: usize) -> Outcomes<()> {
    let disk = tempfile::tempdir()?;
    let many = measure(Sqlite::at(disk.path()), 1_000, tasks).await?;
    let bytes = size(disk.path()) as f64 / tasks as f64;
    println!("disk,      1,000 callers: {:>7.0}/s  writer {:.1} µs", many.rate, many.cpu);
    println!("bytes a finished task: {bytes:.0}");
    let volatile = tempfile::tempdir()?;
    let memory = measure(Sqlite::at(volatile.path()).in_memory(), 1_000, tasks).await?;
    println!("in memory, 1,000 callers: {:>7.0}/s  writer {:.1} µs", memory.rate, memory.cpu);
    let single = tempfile::tempdir()?;
    let apart = measure(Sqlite::at(single.path()).group(1), 1_000, 2_000).await?;
    println!("one transaction for each: {:>7.0}/s  writer {:.1} µs", apart.rate, apart.cpu);
    let alone = tempfile::tempdir()?;
    let one = measure(Sqlite::at(alone.path()), 1, 1_000).await?;
    println!("disk,          1 caller:  {:>7.0}/s  writer {:.1} µs", one.rate, one.cpu);
    let bytes = size(alone.path()) as f64 / 1_000.0;
    println!("bytes a finished task, one commit each: {bytes:.0}");
    let (memory, apart) = (many.rate / memory.rate, many.rate / apart.rate);
    println!("disk is {memory:.2} of memory, {apart:.0} times one transaction for each");
    Ok(())
}

fn main() -> Outcomes<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    let mut arguments = std::env::args().skip(1);
    let tasks = arguments.next().map_or(Ok(100_000), |tasks| tasks.parse())?;
    runtime.block_on(runtime.spawn(async move {
        all(tasks).await?;
        if std::env::args().nth(2).is_some() {
            opening(1_000_000).await?;
        }
        Ok(())
    }))?
}
