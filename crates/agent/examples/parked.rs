//! What an agent that waits keeps in memory beyond its task.
//!
//! ```text
//! cargo run --release -p offshoot-agent --example parked [agents]
//! ```
//! Each agent sends off a task that never ends and waits for it: with its turn
//! ended, or in the tool that waits. It is compared with a plain task that does
//! the same. This is a program by itself, because it counts what the whole of
//! it has in use.

use std::alloc::System;
use std::time::Duration;

use futures_util::stream;
use offshoot_agent::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot_core::{Payload, Phase};
use offshoot_models::{
    Answer, Call, Facts, Model, ModelName, Part, Piece, Pieces, Provider, Role, Stop, ToolCall,
    Usage,
};
use offshoot_runtime::{BodyError, Context, Kind, Request, Runtime, Session};
use offshoot_sqlite::Sqlite;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

type Outcomes<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How many bytes an agent that waits may take beyond its task.
const BAR: i64 = 4 * 1_024;

fn main() -> Outcomes<()> {
    let many = std::env::args().nth(1).map_or(Ok(1_000), |arg| arg.parse())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    // Inside a spawned task, as a server's code would run.
    runtime.block_on(runtime.spawn(measure(many)))?
}

async fn measure(many: usize) -> Outcomes<()> {
    let plain = each(many, Who::Plain).await?;
    println!("| what | measured | must be | |\n|---|---|---|---|");
    println!("| a plain task and the one it waits for | {plain} bytes | | |");
    for (what, who) in [("turn has ended", Who::Ended), ("tool waits", Who::InTool)] {
        let more = each(many, who).await? - plain;
        let verdict = if more <= BAR { "met" } else { "**not met**" };
        println!(
            "| an agent whose {what}, beyond that | {more} bytes | at most {BAR} | {verdict} |"
        );
    }
    Ok(())
}

/// Who waits.
#[derive(Clone, Copy, Debug)]
enum Who {
    /// A plain task.
    Plain,
    /// An agent that has ended its turn.
    Ended,
    /// An agent in the tool that waits.
    InTool,
}

/// The bytes that one of so many takes, in a runtime of their own: tables grow
/// by doubling, and would make whoever comes last pay for it.
async fn each(many: usize, who: Who) -> Outcomes<i64> {
    let sleeper = Kind::new("sleeper", |cx: Context, (): ()| async move {
        cx.receive(1).await?;
        Ok::<_, BodyError>(())
    })
    .resumable();
    let plain = Kind::new("plain", |cx: Context, _: Brief| async move {
        let child = cx.spawn(Request::new("sleeper", Payload::Null)).await?;
        child.wait().await?;
        Ok::<_, BodyError>(())
    })
    .resumable();
    let agents = Agents::with_model(Prompt::new()?).tool(send());
    // Histories are on the disk.
    let home = tempfile::tempdir()?;
    let builder = Runtime::builder(Sqlite::at(home.path())).kind(&sleeper).kind(&plain);
    let runtime = builder.backend(KIND, agents.backend()).open().await?;
    let task = if matches!(who, Who::InTool) { WAIT } else { "Send one off." };
    let brief = Brief::new("scripted/model".parse()?, task);
    let request = || match who {
        Who::Plain => Ok(plain.with(brief.clone())),
        Who::Ended | Who::InTool => Ok(agents.request(&brief)?),
    };
    // What is made once is there before anything is counted.
    park(&runtime.session("first").await?, 10, request).await?;
    let bytes = park(&runtime.session("counted").await?, many, request).await?;
    runtime.shutdown(Duration::from_secs(1)).await?;
    Ok(bytes)
}

/// The bytes that each of so many takes once all of them wait.
async fn park(
    session: &Session,
    many: usize,
    request: impl Fn() -> Outcomes<Request>,
) -> Outcomes<i64> {
    let waiting = session.counts().await?.of(Phase::Waiting) + 2 * many as u64;
    let before = in_use();
    for _ in 0..many {
        session.spawn(request()?).await?;
    }
    while session.counts().await?.of(Phase::Waiting) < waiting {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A report is written a second after the one before at the soonest.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    Ok((in_use() - before) / i64::try_from(many)?)
}

fn in_use() -> i64 {
    let stats = COUNTED.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// What an agent is asked that waits in a tool.
const WAIT: &str = "Send one, and wait.";

/// A model that sends one off, and then waits for it or ends its turn.
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

    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn call(&self, call: Call) -> Pieces {
        let waits = call.messages[0].parts.first() == Some(&Part::text(WAIT));
        let answers = call.messages.iter().filter(|said| said.role == Role::Assistant).count();
        let sent = call.messages.iter().flat_map(|said| &said.parts).find_map(|part| match part {
            Part::ToolResult(result) => Some(result.text.as_str()),
            _ => None,
        });
        let parts = match (answers, sent) {
            (0, _) => vec![calling("send", "{}".to_owned())],
            (1, Some(id)) if waits => {
                let span = 3_600;
                vec![calling(
                    "wait_tasks",
                    format!(r#"{{"tasks":["{id}"],"timeout_seconds":{span}}}"#),
                )]
            }
            _ => vec![Part::text("It is off.")],
        };
        let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop = if calls { Stop::ToolCalls } else { Stop::Done };
        let usage = Usage { input: 10, output: 10, ..Usage::default() };
        let answer = Answer { parts, stop, usage };
        Box::pin(stream::iter([Ok(Piece::Whole(Box::new(answer)))]))
    }
}

fn calling(tool: &str, arguments: String) -> Part {
    let (id, name) = (format!("call_{tool}"), tool.to_owned());
    Part::ToolCall(ToolCall { id, name, arguments, item: serde_json::Value::Null })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// A tool that sends off a task which never ends.
fn send() -> impl offshoot_agent::Tool {
    async fn off(cx: ToolContext, _: Nothing) -> Result<String, ToolError> {
        let request = Request::new("sleeper", Payload::Null);
        Ok(cx.task().spawn(request).await?.id().to_string())
    }
    Function::new("send", "Sends one off.", off).idempotent()
}
