//! The tools of koda.
//!
//! An agent's id is `agent:` and a command's `process:`, each with the number of the
//! task's handle, or with the handle. A wait consumes nothing: repeated, it returns the
//! same, and no notice repeats what it returned. A cancelled agent is reported as
//! cancelled. Koda has no tool for messages, so `send_message` stays.

use std::collections::BTreeMap;
use std::time::Duration;

use offshoot_agent::operations::WaitedTasks;
use offshoot_agent::{
    AgentReport, KIND, OfferedTools, Output, Profile, ProfileOrigin, ToolContext, ToolError,
};
use offshoot_core::{FailureKind, Outcome, Stamp, Task};
use offshoot_runtime::{Error, TaskRef, WaitResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::adapt::{AdaptedCall, RUN_COMMAND, adapt};
use crate::alias::{ToolAlias, ToolNames, managing, read_only, waiting};
use crate::operations::{
    self, MESSAGE_ARRIVED, NO_LIMIT, SpawnArguments, SpawnCall, profile_of, task_wait,
};
use crate::task_ids::{self, IdFormat};
use crate::task_status::{self, TaskStatus, mark_reported, needs_answer};

pub(super) const NAMES: ToolNames = &[
    ("spawn_agent", "InvokeAgent"),
    ("list_tasks", "ListBackgroundTasks"),
    ("inspect_task", "WaitTask"),
    ("wait_tasks", "WaitTask"),
    ("cancel_task", "CancelTask"),
];

pub(super) const KEPT_TOOLS: &[&str] = &["send_message"];

const AGENT: IdFormat = IdFormat { prefix: "agent:", kind: KIND };
const PROCESS: IdFormat = IdFormat { prefix: "process:", kind: "command" };
/// A bare number is an agent's id.
const BARE: IdFormat = IdFormat { prefix: "", kind: KIND };

pub(super) fn aliases(offered: &OfferedTools) -> Vec<ToolAlias> {
    let mut aliases = vec![
        managing(
            "spawn_agent",
            (
                "InvokeAgent",
                "Sends an agent off to do a task and returns what it answers. With background it \
                 returns at once and WITHOUT any result: that comes to you later by itself.",
            ),
            invoke,
        ),
        read_only(
            "spawn_agent",
            ("ListAgents", "Lists the agents that InvokeAgent knows."),
            agents,
        ),
        read_only(
            "list_tasks",
            (
                "ListBackgroundTasks",
                "Lists your background tasks. Their results come to you by themselves.",
            ),
            list,
        ),
        managing(
            "cancel_task",
            (
                "CancelTask",
                "Asks a background task, and everything below it, to stop. Its end comes to you as \
                 a notice.",
            ),
            cancel,
        ),
        waiting(
            "wait_tasks",
            (
                "WaitTask",
                "Waits until all of these tasks have ended, one of them asks something, a message \
                 for you comes, or the time is over. It can be repeated: it takes nothing away.",
            ),
            wait,
        ),
    ];
    let bash = "Runs a command. With background it runs while you go on, and its end comes to you.";
    aliases.extend(adapt(&offered.provided, RUN_COMMAND, ("Bash", bash), command));
    let user = "Asks the user or agent you work for, and waits until the answer comes.";
    aliases.extend(adapt(&offered.built_in, "ask", ("AskUser", user), question));
    aliases
}

/// The id of a task.
pub(super) fn id(task: &Task) -> String {
    naming(task).id(task)
}

fn naming(task: &Task) -> IdFormat {
    if &*task.spec.kind == KIND { AGENT } else { PROCESS }
}

async fn find(cx: &ToolContext, written: &str) -> Result<TaskRef, Error> {
    task_ids::find(cx, &[AGENT, PROCESS, BARE], written).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Invoke {
    /// What it shall do. It sees nothing of your conversation unless it is a fork.
    prompt: String,
    /// Which agent, as ListAgents names them; "task" unless you say. "fork" knows
    /// your conversation.
    #[serde(default = "general")]
    agent_name: String,
    /// true: it works while you go on.
    #[serde(default)]
    background: bool,
}

fn general() -> String {
    "task".to_owned()
}

fn invoke(cx: ToolContext, asked: Invoke) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(begin(cx, asked));
    async move {
        match begun.await? {
            SpawnCall::Done(output) => Ok(output),
            SpawnCall::Waits(wait) => {
                let waited_tasks = wait.wait().await?;
                Box::pin(operations::foreground_result((wait, waited_tasks), AGENT, "send_message"))
                    .await
            }
        }
    }
}

async fn begin(cx: ToolContext, asked: Invoke) -> Result<SpawnCall, ToolError> {
    let name = asked.agent_name.trim();
    let fork = (name == "fork").then_some("fork");
    let profile = if fork.is_some() { None } else { profile_of(&cx, name)? };
    let arguments =
        SpawnArguments::new(&asked.prompt).with("context", fork).with("profile", profile);
    if !asked.background {
        let task = arguments.spawn_task(&cx).await?;
        return Ok(SpawnCall::Waits(task_wait(&cx, vec![task], NO_LIMIT)));
    }
    let child = arguments.spawn(&cx).await?;
    let id = AGENT.of_handle(child.task.handle());
    Ok(SpawnCall::Done(Output::text(format!("The agent {name} ({id}): {}", child.note(&id)))))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Agents {
    /// true: also how each is told to behave.
    #[serde(default)]
    detail: bool,
}

/// The number of characters that are shown of a prompt.
const PROMPT: usize = 500;

async fn agents(cx: ToolContext, asked: Agents) -> Result<Output, ToolError> {
    let known = cx.profile_source().map(|source| source.all(cx.folder()).0);
    let mut lines = vec![
        "task: does whatever it is told to.".to_owned(),
        "fork: the same, and knows your conversation.".to_owned(),
    ];
    lines.extend(known.iter().flatten().map(|profile| shown(profile, asked.detail)));
    Ok(Output::text(lines.join("\n")))
}

fn shown(profile: &Profile, detail: bool) -> String {
    let tag = match profile.origin {
        ProfileOrigin::BuiltIn => "",
        ProfileOrigin::User(_) => " [user]",
        ProfileOrigin::Project(_) => " [project]",
    };
    let Profile { name, description, prompt, .. } = profile;
    if detail {
        let prompt = offshoot_core::text::cut(prompt, PROMPT);
        return format!("## {name}{tag}\n{description}\n{prompt}");
    }
    format!("{name}: {description}{tag}")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn list(cx: ToolContext, _: Nothing) -> Result<Output, ToolError> {
    let all = operations::list_tasks(&cx).await?;
    Output::json(&all.iter().map(|task| entry(cx.task().now(), task)).collect::<Vec<_>>())
}

/// A task as a list shows it.
fn entry(now: Stamp, task: &Task) -> Value {
    let agent = &*task.spec.kind == KIND;
    let mut told = json!({
        "task_id": id(task),
        "task_type": if agent { "agent" } else { "process" },
        "description": task_status::purpose(task).unwrap_or_else(|| task.handle().to_owned()),
        "status": if agent { status(task) } else { process(task).0 },
        "age_secs": now.since(task.spec.spawned_at).as_secs(),
    });
    if let (false, ("exited", code)) = (agent, process(task)) {
        told["exit_code"] = json!(code);
    }
    told
}

fn status(task: &Task) -> &'static str {
    match TaskStatus::of(task) {
        TaskStatus::Queued => "pending",
        TaskStatus::Running | TaskStatus::NeedsInput => "running",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed | TaskStatus::Lost => "errored",
        TaskStatus::Cancelled => "cancelled",
    }
}

/// The status of a command and its exit code.
fn process(task: &Task) -> (&'static str, Option<i32>) {
    let status = match task.ended() {
        None => "running",
        Some(Outcome::Completed { .. }) => "exited",
        Some(Outcome::Failed(failure)) => match failure.kind {
            FailureKind::Signal(_) => "killed",
            _ => "exited",
        },
        Some(Outcome::Cancelled { .. } | Outcome::Lost { .. }) => "killed",
    };
    (status, task_status::exit_code(task))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cancel {
    /// The id of the task.
    task_id: String,
}

async fn cancel(cx: ToolContext, asked: Cancel) -> Result<Output, ToolError> {
    let task = find(&cx, &asked.task_id).await?;
    let record = operations::cancel(&task, None).await?.record;
    if record.state.is_terminal() && record.cancel.is_none() {
        return Err(ToolError::new(format!(
            "{} had ended before ({}): nothing was stopped.",
            id(&record),
            status(&record)
        )));
    }
    Output::json(&json!({"task_id": id(&record), "cancelled": true}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitFor {
    /// The ids of the tasks: at least one.
    #[schemars(length(min = 1))]
    task_ids: Vec<String>,
    /// How many seconds to wait, from 1 to 300; 60 unless you say.
    timeout_secs: Option<u64>,
}

/// The largest number of tasks in one wait.
const MOST: usize = 64;

fn wait(cx: ToolContext, asked: WaitFor) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(async move {
        if asked.task_ids.is_empty() || asked.task_ids.len() > MOST {
            return Err(ToolError::new(format!("Name 1 to {MOST} tasks to wait for.")));
        }
        let mut found = Vec::new();
        let mut places = Vec::new();
        for written in asked.task_ids {
            // The wait goes on for the tasks that exist.
            places.push(match find(&cx, &written).await {
                Ok(task) => {
                    found.push(task);
                    EntrySource::Found(found.len() - 1)
                }
                Err(Error::Store(error)) => return Err(Error::Store(error).into()),
                Err(error) => EntrySource::Wrong(wrong(&written, error)),
            });
        }
        let span = Duration::from_secs(asked.timeout_secs.unwrap_or(60).clamp(1, 300));
        Ok((task_wait(&cx, found, span), places))
    });
    async move {
        let (wait, places) = begun.await?;
        let waited_tasks = match wait.tasks.is_empty() {
            true => WaitedTasks { tasks: Vec::new(), has_message: false },
            false => wait.wait().await?,
        };
        Box::pin(told(wait.cx.now(), places, waited_tasks)).await
    }
}

/// The entry of an id.
enum EntrySource {
    /// It names the task at this position.
    Found(usize),
    Wrong(Value),
}

fn wrong(written: &str, error: Error) -> Value {
    let status = match error {
        Error::Forbidden(_) => "forbidden",
        Error::Name(_) => "parse_error",
        _ => "not_found",
    };
    let error = ToolError::from(error).to_string();
    json!({"task_id": written, "status": status, "error": error})
}

async fn told(
    now: Stamp,
    places: Vec<EntrySource>,
    waited_tasks: WaitedTasks,
) -> Result<Output, ToolError> {
    let mut tasks = Vec::new();
    let mut summary = BTreeMap::from([("total".to_owned(), places.len())]);
    for place in places {
        let entry = match place {
            EntrySource::Found(at) => match waited_tasks.tasks.get(at) {
                Some(waited) => ended(now, waited, waited_tasks.has_message).await?,
                None => continue,
            },
            EntrySource::Wrong(entry) => entry,
        };
        let status = entry["status"].as_str().unwrap_or_default().to_owned();
        *summary.entry(status).or_default() += 1;
        tasks.push(entry);
    }
    Ok(mark_reported(Output::json(&json!({"tasks": tasks, "summary": summary}))?, &waited_tasks))
}

async fn ended(now: Stamp, waited: &WaitResult, spoken_to: bool) -> Result<Value, ToolError> {
    let (task, id) = (&waited.task, id(&waited.task));
    if !waited.is_ended() {
        let current = entry(now, task);
        return Ok(match needs_answer(waited) {
            true => {
                let note = operations::question_note(&id, "send_message");
                json!({"task_id": id, "status": "awaiting_input", "current": current, "note": note})
            }
            _ if spoken_to => {
                json!({"task_id": id, "status": "interrupted", "current": current, "note": MESSAGE_ARRIVED})
            }
            _ => json!({"task_id": id, "status": "timed_out", "current": current}),
        });
    }
    if &*task.spec.kind != KIND {
        let (status, code) = process(task);
        return Ok(json!({"task_id": id, "status": status, "exit_code": code}));
    }
    if TaskStatus::of(task) == TaskStatus::Cancelled {
        return Ok(json!({"task_id": id, "status": "cancelled"}));
    }
    let events: Vec<_> = AgentReport::of(task).map(|report| report.told()).into_iter().collect();
    Ok(json!({
        "task_id": id,
        "status": status(task),
        "agent_name": task_status::profile(task).unwrap_or_else(general),
        "prompt": task_status::purpose(task),
        "output": task_status::result(waited).await?,
        "events": events,
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// The command.
    command: String,
    /// How many seconds it may take, up to 300; 60 unless you say.
    timeout: Option<u64>,
    /// true: it runs while you go on.
    #[serde(default)]
    background: bool,
}

fn command(asked: Bash) -> Result<AdaptedCall, ToolError> {
    let Bash { command, timeout, background } = asked;
    let meant = match background {
        true => json!({"command": command, "background": true}),
        false => json!({"command": command, "timeout_seconds": timeout.unwrap_or(60).min(300)}),
    };
    Ok(AdaptedCall::new(meant).format(move |report| {
        let id = id(&report.task);
        let before = match report.is_ended {
            true => String::new(),
            false => format!("Process {id}: {command}\nTo end it call CancelTask with {id:?}.\n"),
        };
        let after = match report.output.as_str() {
            "" => String::new(),
            wrote => format!("\n{wrote}"),
        };
        Ok(Output::text(format!("{before}{}{after}", report.summary(NAMES))))
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskUser {
    /// What you must know to go on.
    question: String,
    /// What may be answered.
    #[serde(default)]
    options: Vec<String>,
}

fn question(asked: AskUser) -> Result<AdaptedCall, ToolError> {
    let options = asked.options.iter().map(|option| format!("\n- {option}"));
    let question = format!("{}{}", asked.question, options.collect::<String>());
    Ok(AdaptedCall::new(json!({"question": question})))
}
