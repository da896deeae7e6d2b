//! Measures the overhead of a tool call.
//!
//! ```text
//! cargo run --release -p offshoot-tools --example overhead
//! ```
//! An agent whose model answers at once reads a small file again and again. The overhead
//! is the time between two requests to the model, less the time of a plain read of the
//! file: the step of the agent, the arguments of the tool, and the opening of the
//! directory and the path.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::stream;
use offshoot_agent::{Agents, Brief, KIND, Limits};
use offshoot_models::{
    Answer, AnswerEvent, AnswerStream, Call, Model, ModelLimits, ModelName, Part, Stop, ToolCall,
    Usage,
};
use offshoot_runtime::Runtime;
use offshoot_store::Memory;
use offshoot_tools::Files;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The number of reads.
const READS: usize = 500;

/// The largest accepted overhead of a call.
const BAR: Duration = Duration::from_micros(100);

fn main() -> Outcome<()> {
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("small.txt"), "a line of some words\n".repeat(20))?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let folder = home.path().canonicalize()?;
    let plain = plain(&folder.join("small.txt"))?;
    let called = runtime.block_on(runtime.spawn(async move { agent(&folder).await }))??;
    let beyond = called.saturating_sub(plain);
    let verdict = if beyond <= BAR { "met" } else { "**not met**" };
    println!("| what | measured | must be | |\n|---|---|---|---|");
    println!(
        "| a call of `read`, beyond the {plain:.1?} of the read itself | {beyond:.1?} | \
         at most {BAR:?} | {verdict} |"
    );
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn plain(path: &Path) -> Outcome<Duration> {
    let mut times = Vec::new();
    for _ in 0..READS {
        let begun = Instant::now();
        assert_eq!(std::fs::read_to_string(path)?.lines().count(), 20);
        times.push(begun.elapsed());
    }
    Ok(median(times))
}

async fn agent(folder: &Path) -> Outcome<Duration> {
    let asked: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let name = ModelName::new(offshoot_models::Provider::Scripted, "model")?;
    let model = Reader { name: name.clone(), asked: asked.clone() };
    let limits = Limits { steps: 2 * READS as u64, ..Limits::default() };
    let agents = Files::new().give(Agents::with_model(model)).limits(limits);
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let mut brief = Brief::new(name, "Read.");
    brief.folder = Some(folder.to_owned());
    session.spawn(agents.request(&brief)?).await?.wait().await?.ack().await?;
    let asked = asked.lock().map_err(|_| "the model panicked")?;
    Ok(median(asked.windows(2).map(|two| two[1] - two[0]).collect()))
}

/// A model that reads the file again and again.
#[derive(Debug)]
struct Reader {
    name: ModelName,
    asked: Arc<Mutex<Vec<Instant>>>,
}

impl Model for Reader {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits { window: 100_000_000, ..ModelLimits::default() }
    }

    fn call(&self, _call: Call) -> AnswerStream {
        let number = match self.asked.lock() {
            Ok(mut asked) => {
                asked.push(Instant::now());
                asked.len()
            }
            Err(_) => READS,
        };
        let (parts, stop) = if number < READS {
            let (id, name) = (format!("call_{number}"), "read".to_owned());
            let arguments = r#"{"path":"small.txt"}"#.to_owned();
            let call = ToolCall { id, name, arguments, item: serde_json::Value::Null };
            (vec![Part::ToolCall(call)], Stop::ToolCalls)
        } else {
            (vec![Part::text("Done.")], Stop::Done)
        };
        let answer =
            Answer { parts, stop, usage: Usage { input: 1, output: 1, ..Usage::default() } };
        Box::pin(stream::iter([Ok(AnswerEvent::Whole(Box::new(answer)))]))
    }
}
