//! The tools of defect.
//!
//! A task id is `bg-` with the number of the task's handle, or with the handle. Results
//! are plain text. One notice reports the end of a task, and says so if it was cancelled.
//! Defect has no tools for messages and results, so `send_message` and `inspect_task`
//! stay.

use offshoot_agent::{FinishAlias, KIND, Output, ToolContext, ToolError};
use offshoot_core::{BlockKind, Task};
use offshoot_runtime::TaskRef;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::alias::{ToolAlias, ToolNames, managing, read_only};
use crate::operations::{self, NO_LIMIT, SpawnArguments, SpawnCall, profile_of, task_wait};
use crate::task_ids::{self, IdFormat};
use crate::task_status::{self, TaskStatus};

pub(super) const NAMES: ToolNames = &[
    ("list_tasks", "inspect_background_task"),
    ("with wait_tasks", "by ending your turn"),
    ("cancel_task", "cancel_background_task"),
];

pub(super) const KEPT_TOOLS: &[&str] = &["send_message", "inspect_task"];

pub(super) const FINISH_ALIAS: FinishAlias =
    FinishAlias { name: "goal_done", results: &[r#"{"summary":"done"}"#], other_arguments: &[] };

const ID_FORMAT: IdFormat = IdFormat { prefix: "bg-", kind: KIND };

pub(super) fn aliases() -> Vec<ToolAlias> {
    vec![
        managing(
            "spawn_agent",
            (
                "spawn_agent",
                "Sends a sub-agent off to do a task and returns what it answers. With \
                 run_in_background it returns at once and WITHOUT any result: that comes to you \
                 later by itself.",
            ),
            spawn,
        ),
        read_only(
            "list_tasks",
            (
                "inspect_background_task",
                "Lists your background tasks, or shows what one of them has done last. Results \
                 come to you by themselves.",
            ),
            inspect,
        ),
        managing(
            "cancel_task",
            (
                "cancel_background_task",
                "Asks a background task, and everything below it, to stop. Its end comes to you as \
                 a notice.",
            ),
            cancel,
        ),
    ]
}

/// The id of a task.
pub(super) fn id(task: &Task) -> String {
    ID_FORMAT.id(task)
}

async fn find(cx: &ToolContext, written: &str) -> Result<TaskRef, ToolError> {
    Ok(task_ids::find(cx, &[ID_FORMAT], written).await?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spawn {
    /// Which profile it is made of; "agent" for none.
    profile: String,
    /// What it shall do. It sees nothing of your conversation.
    task: String,
    /// Another model than yours, as <provider>/<name>.
    model: Option<String>,
    /// true: it works while you go on.
    #[serde(default)]
    run_in_background: bool,
}

fn spawn(cx: ToolContext, asked: Spawn) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(begin(cx, asked));
    async move {
        match begun.await? {
            SpawnCall::Done(output) => Ok(output),
            SpawnCall::Waits(wait) => {
                let waited_tasks = wait.wait().await?;
                Box::pin(operations::foreground_result(
                    (wait, waited_tasks),
                    ID_FORMAT,
                    "send_message",
                ))
                .await
            }
        }
    }
}

async fn begin(cx: ToolContext, asked: Spawn) -> Result<SpawnCall, ToolError> {
    let profile = profile_of(&cx, &asked.profile)?;
    let arguments =
        SpawnArguments::new(&asked.task).with("profile", profile).with("model", asked.model);
    if !asked.run_in_background {
        let task = arguments.spawn_task(&cx).await?;
        return Ok(SpawnCall::Waits(task_wait(&cx, vec![task], NO_LIMIT)));
    }
    let child = arguments.spawn(&cx).await?;
    let (id, label) = (ID_FORMAT.of_handle(child.task.handle()), asked.profile.trim());
    let told = format!("The sub-agent {label} is background task `{id}`. {}", child.note(&id));
    Ok(SpawnCall::Done(Output::text(told)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inspect {
    /// The id of one to show; all are listed without it.
    task_id: Option<String>,
    /// How many of its last blocks to show; 10 unless you say.
    #[schemars(range(min = 1))]
    recent_blocks: Option<usize>,
}

/// The largest number of blocks shown.
const MOST: usize = 50;

async fn inspect(cx: ToolContext, asked: Inspect) -> Result<Output, ToolError> {
    let mut lines = Vec::new();
    if let Some(written) = &asked.task_id {
        let task = find(&cx, written).await?;
        let record = task.record().await?;
        let last = asked.recent_blocks.unwrap_or(10).clamp(1, MOST);
        let peek = task.peek().last(last).limit(0).await?;
        let (id, label) = (id(&record), label(&record));
        lines.push(format!("{id} ({label}) [{}] — {} blocks", status(&record), peek.total));
        for block in peek.blocks {
            lines.push(match (block.kind, &block.name) {
                (BlockKind::ToolUse, Some(name)) => format!("  [tool_use] {name}"),
                (kind, _) => format!("  [{}]", word(kind)),
            });
        }
        return Ok(Output::text(lines.join("\n")));
    }
    let all = operations::list_tasks(&cx).await?;
    if all.is_empty() {
        return Ok(Output::text("There are no background tasks."));
    }
    lines.push(format!("{} background tasks:", all.len()));
    for record in &all {
        let task = cx.task().task(&record.id().to_string()).await?;
        let total = task.peek().last(1).limit(0).await?.total;
        let (id, label) = (id(record), label(record));
        lines.push(format!("- {id} ({label}) [{}] — {total} blocks", status(record)));
    }
    Ok(Output::text(lines.join("\n")))
}

/// The profile of an agent, or the kind of another task.
fn label(task: &Task) -> String {
    task_status::profile(task).unwrap_or_else(|| task.spec.kind.to_string())
}

fn status(task: &Task) -> &'static str {
    match TaskStatus::of(task) {
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::NeedsInput => "running",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed | TaskStatus::Lost => "failed",
        TaskStatus::Cancelled => "canceled",
    }
}

fn word(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::User => "user",
        BlockKind::Assistant => "assistant",
        BlockKind::Thought => "thought",
        BlockKind::ToolUse => "tool_use",
        BlockKind::ToolResult => "tool_result",
        _ => "other",
    }
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
    let id = id(&record);
    Ok(Output::text(match record.state.is_terminal() {
        true => format!("Background task `{id}` has already finished ({}).", status(&record)),
        false => format!(
            "Cancellation of background task `{id}` was requested. It has not stopped yet: its end \
             comes to you as a notice."
        ),
    }))
}
