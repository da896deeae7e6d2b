//! The tools of Claude Code.
//!
//! An agent is `a` with its id, or its handle. There is no file to read an answer
//! from before it comes, so `outputFile` is nothing, and ours to look at a task
//! stays. Where an agent has not ended, a field `note` of ours says that nothing is
//! done. Who has sent an agent off is `main` to it.

mod commands;

use offshoot_core::{DeliveryMode, Task, TaskId};
use offshoot_runtime::TaskRef;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::deeds::{self, Begun, ENDLESS, Sending, profile_of, waiting};
use super::naming::{self, missing};
use super::phrase::{Words, looks, manages};
use super::standing::{self, Standing, telling};
use super::{Said, Scene};
use crate::KIND;
use crate::control::{self, Stand};
use crate::report::AgentReport;
use crate::tool::{Output, ToolContext, ToolError};

pub(super) const WORDS: Words = &[
    ("spawn_agent", "Agent"),
    ("list_tasks", "ListAgents"),
    ("with wait_tasks", "by ending your turn"),
    ("call wait_tasks", "end your turn"),
    ("send_message", "SendMessage"),
    ("cancel_task", "TaskStop"),
];

pub(super) const KEEPS: &[&str] = &["inspect_task"];

pub(super) fn phrases(scene: &Scene) -> Vec<Said> {
    let mut phrases = vec![
        manages(
            "spawn_agent",
            (
                "Agent",
                "Sends an agent off to do a task. By default it works in the background: this call \
                 returns at once and WITHOUT any result, which comes to you later by itself. With \
                 run_in_background=false this call returns its result.",
            ),
            spawn,
        ),
        manages(
            "send_message",
            (
                "SendMessage",
                "Says something to an agent that you have sent off, or with \"main\" to whoever has \
                 sent you off. If the agent asks something, this is the answer. One that has ended \
                 goes on with it.",
            ),
            send,
        ),
        manages(
            "cancel_task",
            (
                "TaskStop",
                "Asks a background task, and everything below it, to stop. Its end comes to you as \
                 a notice.",
            ),
            stop,
        ),
        looks("list_tasks", ("ListAgents", "Lists what you have sent off."), list),
    ];
    phrases.extend(commands::phrases(scene));
    phrases
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
    Ok(naming::find(cx, &[], own.as_deref().unwrap_or(written)).await?)
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
            Begun::Told(output) => Ok(output),
            Begun::Awaited(wait) => {
                let stand = wait.over().await?;
                Box::pin(ended(stand)).await
            }
        }
    }
}

async fn begin(cx: ToolContext, asked: Agent) -> Result<Begun, ToolError> {
    if asked.isolation == Some(Isolation::Remote) {
        return Err(ToolError::new("Nothing was started: isolation=\"remote\" is nowhere here."));
    }
    let kind = asked.subagent_type.as_deref().map(str::trim);
    let fork = (kind == Some("fork")).then_some("fork");
    let profile = match kind.filter(|_| fork.is_none()) {
        Some(kind) => profile_of(&cx, kind)?,
        None => None,
    };
    // A short name says nothing of whose model it is.
    let (model, unknown) = match asked.model {
        Some(model) if model.contains('/') => (Some(model), false),
        other => (None, other.is_some()),
    };
    let worktree = asked.isolation.map(|_| "worktree");
    let sending = Sending::of(&asked.prompt).with("name", asked.name).with("profile", profile);
    let sending = sending.with("model", model).with("context", fork).with("isolation", worktree);
    if asked.run_in_background == Some(false) {
        let task = sending.off(&cx).await?;
        return Ok(Begun::Awaited(waiting(&cx, vec![task], ENDLESS)));
    }
    let off = sending.sent(&cx).await?;
    let (task, mut note) = (&off.task, off.told(off.task.handle()));
    if worktree.is_some() {
        note = format!("{note} {}", control::APART);
    }
    if unknown || asked.effort.is_some() {
        note.push_str(" Its model and effort are as yours: what you said of them has no effect.");
    }
    Ok(Begun::Told(Output::json(&json!({
        "status": "async_launched",
        "agentId": agent_id(task.id()),
        "description": asked.description,
        "prompt": asked.prompt,
        "outputFile": null,
        "note": note,
    }))?))
}

async fn ended(stand: Stand) -> Result<Output, ToolError> {
    let Some(waited) = stand.tasks.first() else { return Err(missing("list of tasks")) };
    let record = &waited.task;
    let id = id(record);
    if !waited.is_ended() {
        let note = deeds::note(&stand, waited, "SendMessage");
        return Output::json(&json!({
            "status": "async_launched",
            "agentId": id,
            "prompt": standing::purpose(record),
            "outputFile": null,
            "note": note,
        }));
    }
    if Standing::of(record) != Standing::Completed {
        let why = Output::failure(offshoot_core::digest(record, usize::MAX));
        return Ok(telling(why, &stand));
    }
    let report = AgentReport::of(record).unwrap_or_default();
    let span = record.since.since(record.spec.spawned_at);
    let told = Output::json(&json!({
        "status": "completed",
        "agentId": id,
        "prompt": standing::purpose(record),
        "content": [{"type": "text", "text": standing::result(waited).await?}],
        "totalDurationMs": u64::try_from(span.as_millis()).unwrap_or(u64::MAX),
        "totalTokens": report.usage.total(),
        "totalToolUseCount": report.tool_calls,
        "usage": report.usage,
    }))?;
    Ok(telling(told, &stand))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// The name or id of an agent, or "main" for whoever has sent you off.
    #[schemars(length(max = 300))]
    to: String,
    /// What to say.
    #[serde(default)]
    message: String,
    /// The same in a few words; whoever gets the message does not see it.
    #[schemars(length(max = 200))]
    #[expect(dead_code, reason = "the message says all of it")]
    summary: Option<String>,
    /// You are told of its end anyway.
    #[expect(dead_code, reason = "every end is told")]
    notify_when_idle: Option<bool>,
}

async fn send(cx: ToolContext, asked: Send) -> Result<Output, ToolError> {
    let to = match asked.to.trim() {
        "main" => "parent".to_owned(),
        written => find(&cx, written).await?.id().to_string(),
    };
    let told = match control::say(&cx, (&to, DeliveryMode::Steer), &asked.message).await? {
        control::Said::Answered(task, number) => {
            format!("Answered question {number} of {}.", task.handle())
        }
        control::Said::Sent(receipts) => match receipts.first() {
            Some(receipt) if to != "parent" && receipt.task.to_string() != to => {
                format!("It had ended: it goes on as {}.", agent_id(receipt.task))
            }
            Some(_) => format!("Queued for {}.", asked.to.trim()),
            None => return Err(ToolError::new("Nobody was told.")),
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
    let record = deeds::stop(&task, None).await?.record;
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
    let all = deeds::tasks(&cx).await?;
    if all.is_empty() {
        return Ok(Output::text("You have sent nobody off."));
    }
    let rows = all.iter().map(|task| {
        let row = format!("{} [{}] {}", task.handle(), id(task), task.state);
        row.replace('\n', " ")
    });
    Ok(Output::text(rows.collect::<Vec<_>>().join("\n")))
}
