//! Measures the memory that a waiting agent keeps beyond its task.
//!
//! ```text
//! cargo run --release -p offshoot-agent --example parked [agents]
//! ```
//! An agent waits in each possible way, and is compared with a plain task that does the
//! same. The measurement is a program of its own, because it counts the memory of the
//! whole process.

use std::alloc::System;
use std::time::Duration;

use futures_util::stream;
use offshoot_agent::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot_core::{Payload, Phase};
use offshoot_models::{
    Answer, AnswerEvent, AnswerStream, Call, Model, ModelError, ModelLimits, ModelName, Part,
    Provider, Role, Stop, ToolCall, Usage,
};
use offshoot_runtime::{BodyError, Context, Kind, Runtime, Session, TaskRequest};
use offshoot_sqlite::Sqlite;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

type Outcomes<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The most bytes of a waiting agent beyond its task.
const BAR: i64 = 4 * 1_024;

fn main() -> Outcomes<()> {
    let many = std::env::args().nth(1).map_or(Ok(1_000), |arg| arg.parse())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    // Inside a spawned task, as a server's code would run.
    runtime.block_on(runtime.spawn(measure(many)))?
}

async fn measure(many: usize) -> Outcomes<()> {
    println!("| what | measured | must be | |\n|---|---|---|---|");
    for (what, way) in WAYS {
        let plain = each(many, way, Who::Plain).await?;
        let more = each(many, way, Who::Agent).await? - plain;
        let verdict = if more <= BAR { "met" } else { "**not met**" };
        println!(
            "| an agent {what}, beyond the {plain} bytes of a plain task | {more} bytes | at most \
             {BAR} | {verdict} |"
        );
    }
    Ok(())
}

/// The ways in which an agent waits.
const WAYS: [(&str, Way); 5] = [
    ("whose turn has ended", Way::Ended),
    ("in `wait_tasks`", Way::WaitTasks),
    ("in `spawn_agent` until that one has ended", Way::Foreground),
    ("in `ask`", Way::Ask),
    ("at the rate gate", Way::Gate),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Ended,
    WaitTasks,
    Foreground,
    Ask,
    Gate,
}

/// The kind of task that waits.
#[derive(Clone, Copy, Debug)]
enum Who {
    Plain,
    Agent,
}

impl Way {
    /// The task text of an agent that waits in this way.
    fn task(self) -> &'static str {
        match self {
            Self::Ended => "Send one off.",
            Self::WaitTasks => "Send one off, and wait for it.",
            Self::Foreground => "Have an agent send one off.",
            Self::Ask => "Ask.",
            Self::Gate => "Be refused.",
        }
    }

    /// The number of waiting tasks for one that waits in this way: itself, and the tasks
    /// that it waits for or that spawned it.
    fn tasks(self) -> u64 {
        match self {
            Self::Ended | Self::WaitTasks | Self::Ask => 2,
            Self::Foreground => 3,
            Self::Gate => 1,
        }
    }
}

/// The bytes of one of this many tasks, in a runtime of their own.
///
/// Tables grow by doubling. In a shared runtime the last measured task would pay for it.
async fn each(many: usize, way: Way, who: Who) -> Outcomes<i64> {
    let sleeper = Kind::new("sleeper", |cx: Context, (): ()| async move {
        cx.receive(1).await?;
        Ok::<_, BodyError>(())
    })
    .resumable();
    let waiter = Kind::new("waiter", move |cx: Context, brief: Brief| {
        // Outside of the future, so that the waiting task keeps no brief.
        let child = match way {
            Way::Foreground => sent(&brief, Way::Ended),
            _ => Ok(TaskRequest::new("sleeper", Payload::Null)),
        };
        async move {
            let child = cx.spawn(child?).await?;
            child.wait().await?;
            Ok::<_, BodyError>(())
        }
    })
    .resumable();
    let asker = Kind::new("asker", |cx: Context, (): ()| async move {
        cx.ask("Which?").await?;
        Ok::<_, BodyError>(())
    })
    .resumable();
    // Only a spawned task can ask.
    let owner = Kind::new("owner", move |cx: Context, brief: Brief| async move {
        cx.spawn(match who {
            Who::Plain => TaskRequest::new("asker", Payload::Null),
            Who::Agent => sent(&brief, way)?,
        })
        .await?;
        cx.sleep("on", Duration::from_secs(3_600)).await?;
        Ok::<_, BodyError>(())
    })
    .resumable();
    let agents = Agents::with_model(Prompt::new()?).tool(send());
    // SQLite keeps histories on the disk, not in memory.
    let home = tempfile::tempdir()?;
    let builder = Runtime::builder(Sqlite::at(home.path())).kind(&sleeper).kind(&waiter);
    let builder = builder.kind(&asker).kind(&owner).backend(KIND, agents.backend());
    let runtime = builder.open().await?;
    let brief = Brief::new("scripted/model".parse()?, way.task());
    let request = || match (way, who) {
        (Way::Ask, _) => Ok(owner.with(brief.clone())),
        (Way::Gate, Who::Plain) => Ok(sleeper.with(())),
        (_, Who::Plain) => Ok(waiter.with(brief.clone())),
        (_, Who::Agent) => Ok(agents.request(&brief)?),
    };
    // The first session creates the shared state before the measurement.
    park(&runtime.session("first").await?, (10, way), request).await?;
    let bytes = park(&runtime.session("counted").await?, (many, way), request).await?;
    runtime.shutdown(Duration::from_secs(1)).await?;
    Ok(bytes)
}

/// A request for an agent that waits in this way.
fn sent(brief: &Brief, way: Way) -> Result<TaskRequest, BodyError> {
    let brief = Brief::new(brief.model.clone(), way.task());
    Ok(TaskRequest::new(KIND, Payload::encode(&brief)?))
}

/// The bytes of each of this many tasks once all of them wait.
async fn park(
    session: &Session,
    (many, way): (usize, Way),
    request: impl Fn() -> Outcomes<TaskRequest>,
) -> Outcomes<i64> {
    let waiting = session.counts().await?.of(Phase::Waiting) + way.tasks() * many as u64;
    let before = in_use();
    for _ in 0..many {
        session.spawn(request()?).await?;
    }
    while session.counts().await?.of(Phase::Waiting) < waiting {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // By then the last report is written and conversations have left memory.
    tokio::time::sleep(Duration::from_secs(4)).await;
    Ok((in_use() - before) / i64::try_from(many)?)
}

fn in_use() -> i64 {
    let stats = COUNTED.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// A model that makes its agent wait in the way that the task text requests.
#[derive(Debug)]
struct Prompt {
    name: ModelName,
}

impl Prompt {
    fn new() -> Outcomes<Self> {
        Ok(Self { name: ModelName::new(Provider::Scripted, "model")? })
    }
}

impl Model for Prompt {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits::default()
    }

    fn call(&self, call: Call) -> AnswerStream {
        let asked = |way: Way| call.messages[0].parts.first() == Some(&Part::text(way.task()));
        let answers = call.messages.iter().filter(|said| said.role == Role::Assistant).count();
        let sent = call.messages.iter().flat_map(|said| &said.parts).find_map(|part| match part {
            Part::ToolResult(result) => Some(result.text.as_str()),
            _ => None,
        });
        if asked(Way::Gate) {
            let (provider, retry_after) = (Provider::Scripted, Some(Duration::from_secs(900)));
            let limited =
                ModelError::RateLimited { provider, retry_after, message: "later".to_owned() };
            return Box::pin(stream::iter([Err(limited)]));
        }
        let parts = match (answers, sent) {
            (0, _) if asked(Way::Ask) => {
                vec![calling("ask", r#"{"question":"Which?"}"#.to_owned())]
            }
            (0, _) if asked(Way::Foreground) => {
                let task = Way::Ended.task();
                let arguments = format!(r#"{{"task":"{task}","background":false}}"#);
                vec![calling("spawn_agent", arguments)]
            }
            (0, _) => vec![calling("send", "{}".to_owned())],
            (1, Some(id)) if asked(Way::WaitTasks) => {
                let arguments = format!(r#"{{"tasks":["{id}"],"timeout_seconds":3600}}"#);
                vec![calling("wait_tasks", arguments)]
            }
            _ => vec![Part::text("It is off.")],
        };
        let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop = if calls { Stop::ToolCalls } else { Stop::Done };
        let usage = Usage { input: 10, output: 10, ..Usage::default() };
        let answer = Answer { parts, stop, usage };
        Box::pin(stream::iter([Ok(AnswerEvent::Whole(Box::new(answer)))]))
    }
}

fn calling(tool: &str, arguments: String) -> Part {
    let (id, name) = (format!("call_{tool}"), tool.to_owned());
    Part::ToolCall(ToolCall { id, name, arguments, item: serde_json::Value::Null })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// A tool that spawns a task which never ends.
fn send() -> impl offshoot_agent::Tool {
    async fn off(cx: ToolContext, _: Nothing) -> Result<String, ToolError> {
        let request = TaskRequest::new("sleeper", Payload::Null);
        Ok(cx.task().spawn(request).await?.id().to_string())
    }
    Function::new("send", "Sends one off.", off).idempotent()
}
