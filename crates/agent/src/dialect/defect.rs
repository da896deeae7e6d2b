//! The tools of defect.
//!
//! A task is `bg-` with the number that the session has counted for it, or with
//! its handle; it stays that task's, whatever was opened again. Results are plain
//! text. An end is told once, as a notice, and says of a cancel that it was one.
//! Defect has no word for messages and shows no results, so ours stay for both: an
//! agent may ask something, and a long answer must be readable.

use offshoot_core::{BlockKind, Task};
use offshoot_runtime::TaskRef;
use schemars::JsonSchema;
use serde::Deserialize;

use super::deeds::{self, Begun, ENDLESS, Sending, profile_of, waiting};
use super::naming::{self, Naming};
use super::phrase::{Words, looks, manages};
use super::standing::{self, Standing};
use super::{Goal, Said};
use crate::KIND;
use crate::tool::{Output, ToolContext, ToolError};

pub(super) const WORDS: Words = &[
    ("list_tasks", "inspect_background_task"),
    ("with wait_tasks", "by ending your turn"),
    ("cancel_task", "cancel_background_task"),
];

pub(super) const KEEPS: &[&str] = &["send_message", "inspect_task"];

pub(super) const GOAL: Goal =
    Goal { word: "goal_done", hands_in: &[r#"{"summary":"done"}"#], ends_nothing: &[] };

const NAMING: Naming = Naming { before: "bg-", stem: KIND };

pub(super) fn phrases() -> Vec<Said> {
    vec![
        manages(
            "spawn_agent",
            (
                "spawn_agent",
                "Sends a sub-agent off to do a task and returns what it answers. With \
                 run_in_background it returns at once and WITHOUT any result: that comes to you \
                 later by itself.",
            ),
            spawn,
        ),
        looks(
            "list_tasks",
            (
                "inspect_background_task",
                "Lists your background tasks, or shows what one of them has done last. Results \
                 come to you by themselves.",
            ),
            inspect,
        ),
        manages(
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
    NAMING.id(task)
}

async fn find(cx: &ToolContext, written: &str) -> Result<TaskRef, ToolError> {
    Ok(naming::find(cx, &[NAMING], written).await?)
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
            Begun::Told(output) => Ok(output),
            Begun::Awaited(wait) => {
                let stand = wait.over().await?;
                Box::pin(deeds::answer((wait, stand), NAMING, "send_message")).await
            }
        }
    }
}

async fn begin(cx: ToolContext, asked: Spawn) -> Result<Begun, ToolError> {
    let profile = profile_of(&cx, &asked.profile)?;
    let sending = Sending::of(&asked.task).with("profile", profile).with("model", asked.model);
    if !asked.run_in_background {
        let task = sending.off(&cx).await?;
        return Ok(Begun::Awaited(waiting(&cx, vec![task], ENDLESS)));
    }
    let off = sending.sent(&cx).await?;
    let (id, label) = (NAMING.of(off.task.handle()), asked.profile.trim());
    let told = format!("The sub-agent {label} is background task `{id}`. {}", off.told(&id));
    Ok(Begun::Told(Output::text(told)))
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

/// How many blocks are shown at the most.
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
    let all = deeds::tasks(&cx).await?;
    if all.is_empty() {
        return Ok(Output::text("There are no background tasks."));
    }
    lines.push(format!("{} background tasks:", all.len()));
    for record in &all {
        let task = cx.cx.task(&record.id().to_string()).await?;
        let total = task.peek().last(1).limit(0).await?.total;
        let (id, label) = (id(record), label(record));
        lines.push(format!("- {id} ({label}) [{}] — {total} blocks", status(record)));
    }
    Ok(Output::text(lines.join("\n")))
}

/// The profile of an agent; of anything else, what it is.
fn label(task: &Task) -> String {
    standing::profile(task).unwrap_or_else(|| task.spec.kind.to_string())
}

fn status(task: &Task) -> &'static str {
    match Standing::of(task) {
        Standing::Queued | Standing::Running | Standing::Asking => "running",
        Standing::Completed => "completed",
        Standing::Failed | Standing::Lost => "failed",
        Standing::Cancelled => "canceled",
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
    let record = deeds::stop(&task, None).await?.record;
    let id = id(&record);
    Ok(Output::text(match record.state.is_terminal() {
        true => format!("Background task `{id}` has already finished ({}).", status(&record)),
        false => format!(
            "Cancellation of background task `{id}` was requested. It has not stopped yet: its end \
             comes to you as a notice."
        ),
    }))
}
