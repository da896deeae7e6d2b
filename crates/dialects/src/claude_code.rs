//! The tools of Claude Code.
//!
//! An agent's id is `a` with its task id; its handle works as well. There is no output
//! file, so `outputFile` is null and `inspect_task` stays. A field `note`, which Claude
//! Code does not have, says that an agent has not ended. An agent calls its owner `main`.

mod commands;

use offshoot_agent::operations::{IN_WORKTREE, SendOutcome, WaitedTasks, send_message};
use offshoot_agent::{AgentReport, KIND, OfferedTools, Output, ToolContext, ToolError};
use offshoot_core::{DeliveryMode, Task, TaskId};
use offshoot_runtime::TaskRef;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::alias::{ToolAlias, ToolNames, managing, read_only};
use crate::operations::{self, NO_LIMIT, SpawnArguments, SpawnCall, profile_of, task_wait};
use crate::task_ids::{self, missing};
use crate::task_status::{self, TaskStatus, mark_reported};

pub(super) const NAMES: ToolNames = &[
    ("spawn_agent", "Agent"),
    ("list_tasks", "ListAgents"),
    ("with wait_tasks", "by ending your turn"),
    ("call wait_tasks", "end your turn"),
    ("send_message", "SendMessage"),
    ("cancel_task", "TaskStop"),
];

pub(super) const KEPT_TOOLS: &[&str] = &["inspect_task"];

pub(super) fn aliases(offered: &OfferedTools) -> Vec<ToolAlias> {
    let mut aliases = vec![
        managing(
            "spawn_agent",
            (
                "Agent",
                "Sends an agent off to do a task. By default it works in the background: this call \
                 returns at once and WITHOUT any result, which comes to you later by itself. With \
                 run_in_background=false this call returns its result.",
            ),
            spawn,
        ),
        managing(
            "send_message",
            (
                "SendMessage",
                "Says something to an agent that you have spawned, or with \"main\" to your parent. \
                 If the agent asks something, this is the answer. One that has ended goes on \
                 with it.",
            ),
            send,
        ),
        managing(
            "cancel_task",
            (
                "TaskStop",
                "Asks a background task, and everything below it, to stop. Its end comes to you as \
                 a notice.",
            ),
            stop,
        ),
        read_only("list_tasks", ("ListAgents", "Lists what you have spawned."), list),
    ];
    aliases.extend(commands::aliases(offered));
    aliases
}

/// The id of a task.
pub(super) fn id(task: &Task) -> String {
    agent_id(task.id())
}

fn agent_id(id: TaskId) -> String {
    format!("a{id}")
}

async fn find(cx: &ToolContext, written: &str) -> Result<TaskRef, ToolError> {
    let own = written.trim().strip_prefix('a').and_then(|id| id.parse::<TaskId>().ok());
    let own = own.map(|id| id.to_string());
    Ok(task_ids::find(cx, &[], own.as_deref().unwrap_or(written)).await?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Agent {
    /// What it is for, in a few words.
    description: String,
    /// What it shall do. It sees nothing of your conversation unless it is a fork.
    prompt: String,
    /// Which sort of agent; "general-purpose" unless you say. "fork" knows your
    /// conversation.
    subagent_type: Option<String>,
    /// A name for it, such as "docs".
    name: Option<String>,
    /// Another model than yours, as <provider>/<name>. Any other name has no effect.
    model: Option<String>,
    /// It has no effect here.
    effort: Option<Effort>,
    /// false: this call returns its result, and you wait.
    run_in_background: Option<bool>,
    /// Where it works.
    isolation: Option<Isolation>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Effort {
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Isolation {
    /// In a git worktree of its own.
    Worktree,
    /// Elsewhere; there is no such place here.
    Remote,
}

fn spawn(cx: ToolContext, asked: Agent) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(begin(cx, asked));
    async move {
        match begun.await? {
            SpawnCall::Done(output) => Ok(output),
            SpawnCall::Waits(wait) => {
                let waited_tasks = wait.wait().await?;
                Box::pin(ended(waited_tasks)).await
            }
        }
    }
}

async fn begin(cx: ToolContext, asked: Agent) -> Result<SpawnCall, ToolError> {
    if asked.isolation == Some(Isolation::Remote) {
        return Err(ToolError::new("Nothing was started: isolation=\"remote\" is nowhere here."));
    }
    let kind = asked.subagent_type.as_deref().map(str::trim);
    let fork = (kind == Some("fork")).then_some("fork");
    let profile = match kind.filter(|_| fork.is_none()) {
        Some(kind) => profile_of(&cx, kind)?,
        None => None,
    };
    // A short name does not name a provider.
    let (model, unknown) = match asked.model {
        Some(model) if model.contains('/') => (Some(model), false),
        other => (None, other.is_some()),
    };
    let worktree = asked.isolation.map(|_| "worktree");
    let arguments =
        SpawnArguments::new(&asked.prompt).with("name", asked.name).with("profile", profile);
    let arguments =
        arguments.with("model", model).with("context", fork).with("isolation", worktree);
    if asked.run_in_background == Some(false) {
        let task = arguments.spawn_task(&cx).await?;
        return Ok(SpawnCall::Waits(task_wait(&cx, vec![task], NO_LIMIT)));
    }
    let child = arguments.spawn(&cx).await?;
    let (task, mut note) = (&child.task, child.note(child.task.handle()));
    if worktree.is_some() {
        note = format!("{note} {}", IN_WORKTREE);
    }
    if unknown || asked.effort.is_some() {
        note.push_str(" Its model and effort are as yours: what you said of them has no effect.");
    }
    Ok(SpawnCall::Done(Output::json(&json!({
        "status": "async_launched",
        "agentId": agent_id(task.id()),
        "description": asked.description,
        "prompt": asked.prompt,
        "outputFile": null,
        "note": note,
    }))?))
}

async fn ended(waited_tasks: WaitedTasks) -> Result<Output, ToolError> {
    let Some(waited) = waited_tasks.tasks.first() else { return Err(missing("list of tasks")) };
    let record = &waited.task;
    let id = id(record);
    if !waited.is_ended() {
        let note = operations::unfinished_note(&waited_tasks, waited, "SendMessage");
        return Output::json(&json!({
            "status": "async_launched",
            "agentId": id,
            "prompt": task_status::purpose(record),
            "outputFile": null,
            "note": note,
        }));
    }
    if TaskStatus::of(record) != TaskStatus::Completed {
        let why = Output::failure(offshoot_core::digest(record, usize::MAX));
        return Ok(mark_reported(why, &waited_tasks));
    }
    let report = AgentReport::of(record).unwrap_or_default();
    let span = record.since.since(record.spec.spawned_at);
    let told = Output::json(&json!({
        "status": "completed",
        "agentId": id,
        "prompt": task_status::purpose(record),
        "content": [{"type": "text", "text": task_status::result(waited).await?}],
        "totalDurationMs": u64::try_from(span.as_millis()).unwrap_or(u64::MAX),
        "totalTokens": report.usage.total(),
        "totalToolUseCount": report.tool_calls,
        "usage": report.usage,
    }))?;
    Ok(mark_reported(told, &waited_tasks))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// The name or id of an agent, or "main" for your parent.
    #[schemars(length(max = 300))]
    to: String,
    /// What to say.
    #[serde(default)]
    message: String,
    /// The same in a few words; the recipient of the message does not see it.
    #[schemars(length(max = 200))]
    #[expect(dead_code, reason = "the message has it all")]
    summary: Option<String>,
    /// You are told of its end anyway.
    #[expect(dead_code, reason = "every end is reported")]
    notify_when_idle: Option<bool>,
}

async fn send(cx: ToolContext, asked: Send) -> Result<Output, ToolError> {
    let to = match asked.to.trim() {
        "main" => "parent".to_owned(),
        written => find(&cx, written).await?.id().to_string(),
    };
    let told = match send_message(&cx, (&to, DeliveryMode::Steer), &asked.message).await? {
        SendOutcome::Answered(task, number) => {
            format!("Answered question {number} of {}.", task.handle())
        }
        SendOutcome::Sent(receipts) => match receipts.first() {
            Some(receipt) if to != "parent" && receipt.task.to_string() != to => {
                format!("It had ended: it goes on as {}.", agent_id(receipt.task))
            }
            Some(_) => format!("Queued for {}.", asked.to.trim()),
            None => return Err(ToolError::new("No task received the message.")),
        },
    };
    Output::json(&json!({"success": true, "message": told}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stop {
    /// The id or name of the task.
    task_id: Option<String>,
    /// The same, as it was called before.
    shell_id: Option<String>,
}

async fn stop(cx: ToolContext, asked: Stop) -> Result<Output, ToolError> {
    let Some(written) = asked.task_id.or(asked.shell_id) else {
        return Err(ToolError::new("Say task_id: the id or name of the task to stop."));
    };
    let task = find(&cx, &written).await?;
    let record = operations::cancel(&task, None).await?.record;
    let message = match record.state.is_terminal() {
        true => format!("{} had ended before: nothing was stopped.", record.handle()),
        false => format!("{} was asked to stop. It has not stopped yet.", record.handle()),
    };
    let kind = match &*record.spec.kind {
        KIND => "local_agent",
        "command" => "local_bash",
        other => other,
    };
    Output::json(&json!({"message": message, "task_id": id(&record), "task_type": kind}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn list(cx: ToolContext, _: Nothing) -> Result<Output, ToolError> {
    let all = operations::list_tasks(&cx).await?;
    if all.is_empty() {
        return Ok(Output::text("You have spawned no task."));
    }
    let rows = all.iter().map(|task| {
        let row = format!("{} [{}] {}", task.handle(), id(task), task.state);
        row.replace('\n', " ")
    });
    Ok(Output::text(rows.collect::<Vec<_>>().join("\n")))
}
