//! Measures the cost of an agent's step: the loop's own time, and the writes.
//!
//! ```text
//! cargo run --release -p offshoot-agent --example steps [agents ...]
//! ```
//! The model answers at once, so all time is the loop's. Each agent takes twenty
//! steps: nineteen that call a tool which only reads, and the answer. Prints the
//! time for each step in memory and on the disk, and the rows and bytes that an
//! early and a late step of a long conversation write.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::stream;
use offshoot_agent::{Agents, Brief, Function, KIND, Limits, ToolContext, ToolError};
use offshoot_models::{
    Answer, AnswerEvent, AnswerStream, Call, Model, ModelLimits, ModelName, Part, Stop, ToolCall,
    Usage,
};
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;
use offshoot_store::{
    Batch, CommitFuture, Memory, OpenStore, Store, StoreError, StoreWrapper, Write,
};
use tokio::task::JoinSet;

type Outcomes<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The number of steps of an agent.
const STEPS: usize = 20;

/// The number of worker threads, as in the other measurements.
const WORKERS: usize = 2;

/// The number of measurements of a time. The result is their median.
const RUNS: usize = 3;

/// The number of steps of the conversation whose early and late steps are compared.
const LONG: usize = 120;

/// The time limit for closing a store.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Outcomes<()> {
    let asked: Result<Vec<usize>, _> = std::env::args().skip(1).map(|arg| arg.parse()).collect();
    let sizes = match asked?.as_slice() {
        [] => vec![1_000, 10_000],
        sizes => sizes.to_vec(),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    // Inside a spawned task, as a server's code would run.
    runtime.block_on(runtime.spawn(measure(sizes)))?
}

async fn measure(sizes: Vec<usize>) -> Outcomes<()> {
    println!("| what | measured | must be | |\n|---|---|---|---|");
    for agents in sizes {
        // The bars hold for a thousand agents.
        let bar = |micros| if agents <= 1_000 { Some(micros) } else { None };
        let memory = median(Medium::Memory, agents).await?;
        told_time(&format!("a step, {agents} agents, memory"), memory, bar(30));
        let sqlite = median(Medium::Disk, agents).await?;
        told_time(&format!("a step, {agents} agents, SQLite"), sqlite, bar(200));
    }
    let home = fresh()?;
    let [early, late] = conversation(home.path()).await?;
    let same = early.rows == late.rows && late.bytes <= early.bytes + early.bytes / 10;
    let shown = |wrote: &Wrote| {
        format!("{} rows, {} bytes ({} to files)", wrote.rows, wrote.bytes, wrote.files)
    };
    row("what step 5 writes", &shown(&early), "", None);
    row("what step 100 writes", &shown(&late), "as much", Some(same));
    Ok(())
}

/// The medium of the store.
#[derive(Clone, Copy, Debug)]
enum Medium {
    Memory,
    Disk,
}

/// The median time for each step of this many agents.
async fn median(medium: Medium, agents: usize) -> Outcomes<Duration> {
    let mut all = Vec::new();
    for _ in 0..RUNS {
        let home = fresh()?;
        all.push(match medium {
            Medium::Memory => crowd(Memory::new(), agents).await?,
            Medium::Disk => crowd(Sqlite::at(home.path()), agents).await?,
        });
    }
    all.sort();
    Ok(all[RUNS / 2])
}

fn told_time(what: &str, took: Duration, bar: Option<u64>) {
    let measured = format!("{:.1} µs", took.as_nanos() as f64 / 1e3);
    let must = bar.map(|bar| format!("at most {bar} µs")).unwrap_or_default();
    row(what, &measured, &must, bar.map(|bar| took <= Duration::from_micros(bar)));
}

fn row(what: &str, measured: &str, must: &str, holds: Option<bool>) {
    let verdict = match holds {
        Some(true) => "met",
        Some(false) => "**not met**",
        None => "",
    };
    println!("| {what} | {measured} | {must} | {verdict} |");
}

/// The time for each step of this many agents that run at once.
async fn crowd(store: impl OpenStore, many: usize) -> Outcomes<Duration> {
    let agents = Agents::with_model(Prompt::new(STEPS, |_| {})).tool(look());
    let runtime = Runtime::builder(store).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "Look around, and say what you have seen.");
    let begun = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..many {
        let (session, request) = (session.clone(), agents.request(&brief)?);
        waiting.spawn(async move {
            let ended = session.spawn(request).await?.wait().await?;
            let answer: String = ended.decode()?;
            ended.ack().await?;
            Outcomes::Ok(answer)
        });
    }
    while let Some(answer) = waiting.join_next().await {
        assert_eq!(answer??, ANSWER);
    }
    let took = begun.elapsed();
    drop(session);
    runtime.shutdown(PATIENCE).await?;
    Ok(took / u32::try_from(many * STEPS)?)
}

/// The writes of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Wrote {
    /// The rows: blocks, records and rows of an inbox.
    rows: u64,
    /// The bytes of the rows.
    bytes: u64,
    /// The bytes that the process has written to files.
    files: u64,
}

/// The writes of the fifth and the hundredth step of a conversation on the disk.
///
/// The result is the median of several conversations, because some writes checkpoint the
/// log into the database.
async fn conversation(home: &Path) -> Outcomes<[Wrote; 2]> {
    let totals = Arc::new(WriteTotals::default());
    let seen: Arc<Mutex<Vec<(usize, Wrote)>>> = Arc::default();
    let (steps, written) = (seen.clone(), totals.clone());
    let model = Prompt::new(LONG, move |step| {
        if let Ok(mut steps) = steps.lock() {
            steps.push((step, written.now()));
        }
    });
    let limits = Limits { steps: 2 * LONG as u64, ..Limits::default() };
    let agents = Agents::with_model(model).tool(look()).limits(limits);
    let inner = Sqlite::at(home).open_store().await?;
    let store: Arc<dyn Store> = Arc::new(Counting { inner, totals });
    let runtime = Runtime::builder(store.clone());
    let runtime = runtime.backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "Look around, and say what you have seen.");
    for _ in 0..9 {
        session.spawn(agents.request(&brief)?).await?.wait().await?.ack().await?;
    }
    drop(session);
    runtime.shutdown(PATIENCE).await?;
    store.close(PATIENCE).await?;
    let seen = seen.lock().map_err(|_| "the model panicked")?;
    let step = |number: usize| {
        let steps = seen.windows(2).filter(|two| two[0].0 == number);
        let wrote = steps.map(|two| (two[0].1, two[1].1));
        let middle = |of: fn(&Wrote) -> u64| {
            let mut all: Vec<_> =
                wrote.clone().map(|(before, after)| of(&after) - of(&before)).collect();
            all.sort_unstable();
            all[all.len() / 2]
        };
        Wrote {
            rows: middle(|wrote| wrote.rows),
            bytes: middle(|wrote| wrote.bytes),
            files: middle(|wrote| wrote.files),
        }
    };
    Ok([step(5), step(100)])
}

/// An empty directory beside this executable.
///
/// In the usual directory for temporary files an fsync may cost nothing.
fn fresh() -> Outcomes<tempfile::TempDir> {
    let here = std::env::current_exe()?;
    let beside = here.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    Ok(tempfile::Builder::new().prefix("offshoot-steps-").tempdir_in(beside)?)
}

/// The final answer of the agents.
const ANSWER: &str = "There is nothing but a figure.";

/// A model that answers at once and calls the tool until its last step.
struct Prompt {
    name: ModelName,
    steps: usize,
    asked: Box<dyn Fn(usize) + Send + Sync>,
}

impl std::fmt::Debug for Prompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prompt").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl Prompt {
    /// Creates a model for this many steps. It reports each step to `asked`.
    fn new(steps: usize, asked: impl Fn(usize) + Send + Sync + 'static) -> Self {
        let name = ModelName::new(offshoot_models::Provider::Scripted, "model");
        let name = name.unwrap_or_else(|_| unreachable!("a valid name"));
        Self { name, steps, asked: Box::new(asked) }
    }
}

impl Model for Prompt {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits { window: 1_000_000, ..ModelLimits::default() }
    }

    fn call(&self, call: Call) -> AnswerStream {
        // Each earlier step has a question and an answer.
        let step = call.messages.len() / 2 + 1;
        (self.asked)(step);
        let usage = Usage { input: 10 * step as u64, output: 10, ..Usage::default() };
        let answer = if step < self.steps {
            let call = ToolCall {
                id: format!("call_{step}"),
                name: "look".to_owned(),
                arguments: r#"{"at":7}"#.to_owned(),
                item: serde_json::Value::Null,
            };
            Answer { parts: vec![Part::ToolCall(call)], stop: Stop::ToolCalls, usage }
        } else {
            Answer { parts: vec![Part::text(ANSWER)], stop: Stop::Done, usage }
        };
        Box::pin(stream::iter([Ok(AnswerEvent::Whole(Box::new(answer)))]))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct LookArguments {
    /// Where to look.
    at: u64,
}

/// A tool that only reads.
fn look() -> impl offshoot_agent::Tool {
    async fn at(_cx: ToolContext, arguments: LookArguments) -> Result<String, ToolError> {
        Ok(format!("There is a {}.", arguments.at))
    }
    Function::new("look", "Looks at a place.", at).read_only()
}

/// The totals of all writes so far.
#[derive(Debug, Default)]
struct WriteTotals {
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl WriteTotals {
    fn now(&self) -> Wrote {
        let (rows, bytes) = (&self.rows, &self.bytes);
        Wrote {
            rows: rows.load(Ordering::Relaxed),
            bytes: bytes.load(Ordering::Relaxed),
            files: written().unwrap_or_default(),
        }
    }
}

/// The bytes that this process has written, if the system reports them.
fn written() -> Option<u64> {
    let counters = std::fs::read_to_string("/proc/self/io").ok()?;
    counters.lines().find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
}

/// A store that counts what another one writes.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Store>,
    totals: Arc<WriteTotals>,
}

impl StoreWrapper for Counting {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(self.inner.clone())
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        for write in &batch.writes {
            let (rows, bytes) = match write {
                Write::Append { blocks, .. } => {
                    let sizes = blocks.iter().map(|block| {
                        let name = block.name.as_ref().map_or(0, |name| name.len());
                        (name + block.text.len()) as u64 + block.data.bytes()
                    });
                    (blocks.len() as u64, sizes.sum())
                }
                write => (1, format!("{write:?}").len() as u64),
            };
            self.totals.rows.fetch_add(rows, Ordering::Relaxed);
            self.totals.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        self.inner.commit(batch)
    }
}
