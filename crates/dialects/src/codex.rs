//! The first set of tools of Codex, which its models have by default.
//!
//! An agent's id is its task id, a UUID as in Codex; its nickname is its handle. A target
//! may be either. A wait consumes nothing, and no notice repeats the results that it
//! returns. A field `note`, which Codex does not have, says that an agent has not ended.
//! Closing an agent cancels it. Input for an agent that has ended continues it in another
//! task, with another id.

mod commands;
mod questions;

use std::time::Duration;

use offshoot_agent::operations::{SendOutcome, TaskWait, WaitedTasks, send_message};
use offshoot_agent::{FinishAlias, OfferedTools, Output, ToolContext, ToolError};
use offshoot_core::DeliveryMode;
use offshoot_runtime::{Error, WaitResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::alias::{ToolAlias, ToolNames, managing, read_only, waiting};
use crate::operations::{self, MESSAGE_ARRIVED, SpawnArguments, profile_of, task_wait};
use crate::task_ids;
use crate::task_status::{self, TaskStatus, mark_reported, needs_answer};

pub(super) const NAMES: ToolNames = &[
    ("list_tasks", "wait_agent"),
    ("inspect_task", "resume_agent"),
    ("wait_tasks", "wait_agent"),
    ("send_message", "send_input"),
    ("cancel_task", "close_agent"),
];

pub(super) const KEPT_TOOLS: &[&str] = &[];

/// Only a paused goal does not end the work.
pub(super) const FINISH_ALIAS: FinishAlias = FinishAlias {
    name: "update_goal",
    results: &[r#"{"status":"complete"}"#, r#"{"status":"blocked"}"#],
    other_arguments: &[r#"{"status":"paused"}"#],
};

/// The description of `spawn_agent`.
pub(super) const SPAWN: &str = "Sends an agent off to do a task. It returns at once and WITHOUT any \
     result: that comes to you later by itself.";

pub(super) fn aliases(offered: &OfferedTools) -> Vec<ToolAlias> {
    let mut aliases = vec![
        managing("spawn_agent", ("spawn_agent", SPAWN), spawn),
        managing(
            "send_message",
            (
                "send_input",
                "Says something to an agent. If it asks something, this is the answer. One that \
                 has ended goes on with it, under another id.",
            ),
            send,
        ),
        waiting(
            "wait_tasks",
            (
                "wait_agent",
                "Waits until one of these agents has ended or asks something, a message for you \
                 comes, or the time is over. Use it only if you can do nothing without a result.",
            ),
            wait,
        ),
        read_only(
            "inspect_task",
            ("resume_agent", "Says how an agent stands. With send_input it goes on."),
            resume,
        ),
        managing(
            "cancel_task",
            ("close_agent", "Asks an agent, and everything below it, to stop."),
            close,
        ),
    ];
    aliases.extend(common(offered, NAMES));
    aliases
}

/// The tools that both sets have.
pub(super) fn common(
    offered: &OfferedTools,
    words: ToolNames,
) -> impl Iterator<Item = ToolAlias> + use<> {
    let common =
        [commands::exec(offered, words), commands::write(offered), questions::alias(offered)];
    common.into_iter().flatten()
}

/// The status of an agent.
pub(super) async fn status(waited: &WaitResult) -> Result<Value, ToolError> {
    Ok(match TaskStatus::of(&waited.task) {
        TaskStatus::Queued => json!("pending_init"),
        TaskStatus::Running | TaskStatus::NeedsInput => json!("running"),
        TaskStatus::Cancelled => json!("shutdown"),
        TaskStatus::Completed => json!({"completed": task_status::result(waited).await?}),
        TaskStatus::Failed | TaskStatus::Lost => {
            json!({"errored": task_status::result(waited).await?})
        }
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// What it is: text, skill or mention.
    r#type: String,
    /// Its text.
    text: Option<String>,
    /// What it is called.
    name: Option<String>,
    /// Where it is.
    path: Option<String>,
    /// A picture; none can be sent on.
    image_url: Option<String>,
    /// A sound; none can be sent on.
    audio_url: Option<String>,
}

/// The message in one text.
fn said(message: Option<String>, items: Option<Vec<Item>>) -> Result<String, ToolError> {
    let said = match (message, items) {
        (Some(_), Some(_)) => return Err(ToolError::new("Say message or items, not both.")),
        (Some(message), None) => message,
        (None, Some(items)) => {
            let lines: Result<Vec<_>, _> = items.into_iter().map(line).collect();
            lines?.join("\n")
        }
        (None, None) => return Err(ToolError::new("Say message or items.")),
    };
    if said.trim().is_empty() {
        return Err(ToolError::new("There is nothing to say: message and items are empty."));
    }
    Ok(said)
}

fn line(item: Item) -> Result<String, ToolError> {
    let Item { r#type: kind, text, name, path, image_url, audio_url } = item;
    if image_url.is_some() || audio_url.is_some() || !matches!(&*kind, "text" | "skill" | "mention")
    {
        return Err(ToolError::new(format!(
            "Nothing was sent: an item of type {kind:?} cannot be sent on. Say in words where it is."
        )));
    }
    Ok([name, text, path].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spawn {
    /// What it shall do. It sees nothing of your conversation unless it is forked.
    message: Option<String>,
    /// The same, part by part.
    items: Option<Vec<Item>>,
    /// true: it knows your conversation.
    #[serde(default)]
    fork_context: bool,
    /// Which sort of agent.
    agent_type: Option<String>,
    /// Another model than yours, as <provider>/<name>.
    model: Option<String>,
    /// It has no effect here.
    reasoning_effort: Option<String>,
    /// It has no effect here.
    service_tier: Option<String>,
}

/// A note on options without an effect.
pub(super) const NO_EFFECT: &str = " reasoning_effort and service_tier have no effect here.";

async fn spawn(cx: ToolContext, asked: Spawn) -> Result<Output, ToolError> {
    if asked.fork_context && asked.agent_type.is_some() {
        return Err(ToolError::new(
            "Nothing was started: a fork is what you are. Leave out agent_type, or fork_context.",
        ));
    }
    let message = said(asked.message, asked.items)?;
    let role = asked.agent_type.as_deref();
    let profile = role.map(|role| profile_of(&cx, role)).transpose()?.flatten();
    let arguments =
        SpawnArguments::new(&message).with("profile", profile).with("model", asked.model);
    let arguments = arguments.with("context", asked.fork_context.then_some("fork"));
    let child = arguments.spawn(&cx).await?;
    let (task, mut note) = (&child.task, child.note(child.task.handle()));
    if asked.reasoning_effort.is_some() || asked.service_tier.is_some() {
        note.push_str(NO_EFFECT);
    }
    let id = task.id().to_string();
    Output::json(&json!({"agent_id": id, "nickname": task.handle(), "note": note}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// The id or nickname of the agent.
    target: String,
    /// What to say.
    message: Option<String>,
    /// The same, part by part.
    items: Option<Vec<Item>>,
    /// true: it leaves what it is at.
    #[serde(default)]
    interrupt: bool,
}

async fn send(cx: ToolContext, asked: Send) -> Result<Output, ToolError> {
    let message = said(asked.message, asked.items)?;
    let task = task_ids::find(&cx, &[], &asked.target).await?;
    let mode = if asked.interrupt { DeliveryMode::Interrupt } else { DeliveryMode::Steer };
    let to = task.id().to_string();
    Output::json(&match send_message(&cx, (&to, mode), &message).await? {
        SendOutcome::Answered(_, number) => json!({"submission_id": format!("{to}/{number}")}),
        SendOutcome::Sent(receipts) => match receipts.first() {
            Some(receipt) if receipt.task != task.id() => json!({
                "submission_id": receipt.message,
                "note": format!("It had ended: it goes on as {}.", receipt.task),
            }),
            Some(receipt) => json!({"submission_id": receipt.message}),
            None => return Err(ToolError::new("No task received the message.")),
        },
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitFor {
    /// The ids or nicknames of the agents: at least one.
    #[schemars(length(min = 1))]
    targets: Vec<String>,
    /// How many milliseconds to wait, from 10000 to 3600000; 30000 unless you say.
    timeout_ms: Option<i64>,
}

/// The largest number of agents in one wait.
const MOST: usize = 64;

fn wait(cx: ToolContext, asked: WaitFor) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(prepare(cx, asked));
    async move {
        let (wait, names, unknown) = begun.await?;
        let waited_tasks = wait.wait().await?;
        Box::pin(told(waited_tasks, names, unknown)).await
    }
}

/// The wait, the name of each agent in the call, and the unknown agents.
type Prepared = (TaskWait, Vec<String>, Map<String, Value>);

async fn prepare(cx: ToolContext, asked: WaitFor) -> Result<Prepared, ToolError> {
    if asked.targets.is_empty() || asked.targets.len() > MOST {
        return Err(ToolError::new(format!("Name 1 to {MOST} agents to wait for.")));
    }
    let millis = asked.timeout_ms.unwrap_or(30_000);
    if millis <= 0 {
        return Err(ToolError::new("timeout_ms must be greater than zero."));
    }
    let (mut found, mut names, mut unknown) = (Vec::new(), Vec::new(), Map::new());
    for target in asked.targets {
        match task_ids::find(&cx, &[], &target).await {
            Ok(task) => {
                found.push(task);
                names.push(target);
            }
            Err(Error::NotFound { .. }) => {
                unknown.insert(target, json!("not_found"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    // An unknown target is final, so the wait returns at once.
    let span = match unknown.is_empty() {
        true => Duration::from_millis(millis.unsigned_abs().clamp(10_000, 3_600_000)),
        false => Duration::ZERO,
    };
    let wait = TaskWait { any: true, ..task_wait(&cx, found, span) };
    Ok((wait, names, unknown))
}

async fn told(
    waited_tasks: WaitedTasks,
    names: Vec<String>,
    mut statuses: Map<String, Value>,
) -> Result<Output, ToolError> {
    let mut notes = Vec::new();
    for (name, waited) in names.into_iter().zip(&waited_tasks.tasks) {
        if waited.is_ended() {
            statuses.insert(name, status(waited).await?);
        } else if needs_answer(waited) {
            notes.push(operations::question_note(&name, "send_input"));
        }
    }
    if waited_tasks.has_message {
        notes.push(MESSAGE_ARRIVED.to_owned());
    }
    let is_over = statuses.is_empty() && notes.is_empty();
    let mut told = json!({"status": statuses, "timed_out": is_over});
    if !notes.is_empty() {
        told["note"] = json!(notes.join("\n"));
    }
    Ok(mark_reported(Output::json(&told)?, &waited_tasks))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Resume {
    /// The id or nickname of the agent.
    id: String,
}

async fn resume(cx: ToolContext, asked: Resume) -> Result<Output, ToolError> {
    let task = task_ids::find(&cx, &[], &asked.id).await?;
    let waited = task.wait().timeout(Duration::ZERO).await?;
    Output::json(&json!({"status": status(&waited).await?}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Close {
    /// The id or nickname of the agent.
    target: String,
}

async fn close(cx: ToolContext, asked: Close) -> Result<Output, ToolError> {
    let task = task_ids::find(&cx, &[], &asked.target).await?;
    let before = task.wait().timeout(Duration::ZERO).await?;
    let before = status(&before).await?;
    operations::cancel(&task, None).await?;
    Output::json(&json!({"previous_status": before}))
}
