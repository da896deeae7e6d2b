//! The tools of everruns.
//!
//! A task has three ids, each with the 32 digits of its task id: `task_`, `session_` for
//! an agent and `bg_` for a command. A field `note`, which everruns does not have, says
//! that an agent has not ended. A blueprint is a profile.

mod background;
mod tasks;

use std::time::Duration;

use offshoot_agent::operations::{CancelOutcome, SendOutcome, WaitedTasks, send_message};
use offshoot_agent::{KIND, OfferedTools, Output, ToolContext, ToolError};
use offshoot_core::{DeliveryMode, Task, TaskId};
use offshoot_runtime::TaskRef;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::adapt::RUN_COMMAND;
use crate::alias::{ToolAlias, ToolNames, managing, read_only};
use crate::operations::{self, SpawnArguments, profile_of, task_wait};
use crate::task_ids;
use crate::task_ids::hex;
use crate::task_status::{self, TaskStatus, mark_reported};

pub(super) const NAMES: ToolNames = &[
    ("spawn_agent", "spawn_subagent"),
    ("list_tasks", "list_tasks"),
    ("inspect_task", "get_subagents"),
    ("wait_tasks", "wait_task"),
    ("send_message", "message_task"),
];

/// `run_command` stays, because the tool of everruns only runs commands in the background.
pub(super) const KEPT_TOOLS: &[&str] = &[RUN_COMMAND];

/// The longest wait of a call for an agent in the foreground.
const FOREGROUND: Duration = Duration::from_secs(300);

pub(super) fn aliases(offered: &OfferedTools) -> Vec<ToolAlias> {
    let mut aliases = vec![
        managing(
            "spawn_agent",
            (
                "spawn_subagent",
                "Sends a sub-agent off to do a task and waits up to 300 seconds for its result. If \
                 it has not ended by then it goes on in the background, and its result comes to \
                 you by itself.",
            ),
            spawn,
        ),
        read_only(
            "list_tasks",
            ("get_subagents", "Lists your sub-agents, or shows one of them with its whole result."),
            subagents,
        ),
        managing(
            "send_message",
            (
                "message_subagent",
                "Says something to a sub-agent and waits up to 300 seconds for its result. One that \
                 has ended goes on with it. With cancel it is asked to stop instead.",
            ),
            message_subagent,
        ),
    ];
    aliases.extend(tasks::aliases());
    aliases.extend(background::alias(offered));
    aliases
}

/// The id of a task.
pub(super) fn id(task: &Task) -> String {
    task_id(task.id())
}

fn task_id(id: TaskId) -> String {
    format!("task_{}", hex(id))
}

fn subagent_id(id: TaskId) -> String {
    format!("session_{}", hex(id))
}

/// Finds a task by any of its ids.
async fn find(cx: &ToolContext, written: &str) -> Result<TaskRef, ToolError> {
    let written = written.trim();
    let digits =
        ["task_", "session_", "bg_"].iter().find_map(|before| written.strip_prefix(before));
    let own = digits.and_then(|digits| digits.parse::<TaskId>().ok()).map(|id| id.to_string());
    Ok(task_ids::find(cx, &[], own.as_deref().unwrap_or(written)).await?)
}

fn status(task: &Task) -> &'static str {
    match TaskStatus::of(task) {
        TaskStatus::Queued => "spawning",
        TaskStatus::Running | TaskStatus::NeedsInput => "running",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed | TaskStatus::Lost => "failed",
        TaskStatus::Cancelled => "cancelled",
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spawn {
    /// A name for it, such as "docs".
    name: String,
    /// What it shall do. It sees nothing of your conversation.
    task: String,
    /// The blueprint of which it is made.
    blueprint: Option<String>,
    /// What the blueprint is configured with.
    config: Option<Map<String, Value>>,
}

fn spawn(cx: ToolContext, asked: Spawn) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(async move {
        if asked.config.is_some() && asked.blueprint.is_none() {
            return Err(ToolError::new("Nothing was started: config goes with a blueprint only."));
        }
        let blueprint = asked.blueprint.as_deref();
        let profile = blueprint.map(|role| profile_of(&cx, role)).transpose()?.flatten();
        let arguments = SpawnArguments::new(&asked.task).with("name", Some(asked.name));
        let arguments = arguments.with("profile", profile).with("config", asked.config);
        let task = arguments.spawn_task(&cx).await?;
        Ok((task_wait(&cx, vec![task], FOREGROUND), asked.blueprint))
    });
    async move {
        let (wait, blueprint) = begun.await?;
        let waited_tasks = wait.wait().await?;
        Box::pin(ended(waited_tasks, |told| told.insert("blueprint".to_owned(), json!(blueprint))))
            .await
    }
}

/// The result of a call that waited for an agent.
async fn ended<T>(
    waited_tasks: WaitedTasks,
    more: impl FnOnce(&mut Map<String, Value>) -> T,
) -> Result<Output, ToolError> {
    let Some(waited) = waited_tasks.tasks.first() else {
        return Err(task_ids::missing("list of tasks"));
    };
    let task = &waited.task;
    let mut told = Map::new();
    told.insert("subagent_id".to_owned(), json!(subagent_id(task.id())));
    told.insert("name".to_owned(), json!(task.handle()));
    told.insert("status".to_owned(), json!(status(task)));
    told.insert("result".to_owned(), json!(task_status::result(waited).await?));
    told.insert("task_id".to_owned(), json!(id(task)));
    if !waited.is_ended() {
        let note =
            operations::unfinished_note(&waited_tasks, waited, "message_task, after get_task");
        told.insert("note".to_owned(), json!(note));
    }
    more(&mut told);
    Ok(mark_reported(Output::json(&told)?, &waited_tasks))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Subagents {
    /// The name or id of one to show.
    name_or_id: Option<String>,
    /// Which to list.
    #[serde(default)]
    status_filter: Filter,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Filter {
    #[default]
    All,
    Running,
    Completed,
    Failed,
}

async fn subagents(cx: ToolContext, asked: Subagents) -> Result<Output, ToolError> {
    let shown = |task: &Task| {
        json!({
            "subagent_id": subagent_id(task.id()),
            "name": task.handle(),
            "task": task_status::purpose(task),
            "status": status(task),
            "created_at": task.spec.spawned_at,
            "blueprint_id": task_status::profile(task),
        })
    };
    if let Some(name) = &asked.name_or_id {
        let task = find(&cx, name).await?;
        let record = task.record().await?;
        let mut told = shown(&record);
        let session = match TaskStatus::of(&record) {
            TaskStatus::Running => "running",
            _ => "idle",
        };
        told["session_status"] = json!(session);
        told["result"] = json!(task_status::result_of(&task).await?);
        return Output::json(&told);
    }
    let wanted = |task: &Task| match (asked.status_filter, TaskStatus::of(task)) {
        (Filter::All, _) | (Filter::Completed, TaskStatus::Completed) => true,
        (Filter::Failed, TaskStatus::Failed | TaskStatus::Lost) => true,
        (Filter::Running, standing) => !standing.is_ended(),
        _ => false,
    };
    let all = operations::list_tasks(&cx).await?;
    let agents = all.iter().filter(|task| &*task.spec.kind == KIND && wanted(task));
    let subagents: Vec<_> = agents.map(shown).collect();
    Output::json(&json!({"count": subagents.len(), "subagents": subagents}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageSubagent {
    /// Its name or id.
    name_or_id: String,
    /// What to say.
    message: String,
    /// true: ask it to stop instead; the message is recorded as the reason.
    #[serde(default)]
    cancel: bool,
}

fn message_subagent(
    cx: ToolContext,
    asked: MessageSubagent,
) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(async move {
        let task = find(&cx, &asked.name_or_id).await?;
        if asked.cancel {
            return Ok(Err(Box::pin(stopped(task, asked.message)).await?));
        }
        let to = task.id().to_string();
        let task = match send_message(&cx, (&to, DeliveryMode::Steer), &asked.message).await? {
            SendOutcome::Answered(task, _) => task,
            SendOutcome::Sent(receipts) => match receipts.first() {
                // An agent that had ended continues in another task.
                Some(receipt) => cx.task().task(&receipt.task.to_string()).await?,
                None => task,
            },
        };
        Ok::<_, ToolError>(Ok(task_wait(&cx, vec![task], FOREGROUND)))
    });
    async move {
        let wait = match begun.await? {
            Ok(wait) => wait,
            Err(output) => return Ok(output),
        };
        let waited_tasks = wait.wait().await?;
        let delivered = |told: &mut Map<String, Value>| {
            told.remove("task_id");
            told.insert("delivered".to_owned(), json!(true));
        };
        Box::pin(ended(waited_tasks, delivered)).await
    }
}

async fn stopped(task: TaskRef, reason: String) -> Result<Output, ToolError> {
    let stopping = operations::cancel(&task, Some(&reason)).await?;
    Output::json(&json!({
        "subagent_id": subagent_id(task.id()),
        "name": task.handle(),
        "delivered": true,
        "cancel_requested": true,
        "note": executor(&stopping),
    }))
}

/// The effect of a cancel in words.
fn executor(stopping: &CancelOutcome) -> String {
    match stopping.reached {
        0 if stopping.record.state.is_terminal() => "it had ended before: nothing was stopped",
        _ => "asked to stop, with everything below it; its end comes to you as a notice",
    }
    .to_owned()
}
