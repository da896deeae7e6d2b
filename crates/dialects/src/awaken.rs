//! The tools of awaken.
//!
//! Each profile has a tool of its own, and a call of it returns the agent's answer. A
//! task id is `bg_` with the number of the task's handle, or with the handle. A cancel
//! or a message that fails is a successful call whose result has the error. Awaken has no
//! tool for results, so `inspect_task` stays.

use std::sync::Arc;

use offshoot_agent::operations::{SendOutcome, send_message};
use offshoot_agent::{AgentReport, KIND, OfferedTools, Output, ToolContext, ToolError};
use offshoot_core::{DeliveryMode, Task};
use offshoot_runtime::{Error, TaskRef};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::alias::{ToolAlias, ToolNames, managing};
use crate::operations::{self, NO_LIMIT, SpawnArguments, profile_of, task_wait};
use crate::task_ids::{self, IdFormat, missing};
use crate::task_status::{self, TaskStatus, mark_reported};

pub(super) const NAMES: ToolNames = &[
    ("spawn_agent", "the agent_run tools"),
    ("list_tasks", "inspect_task"),
    ("with wait_tasks", "by ending your turn"),
];

pub(super) const KEPT_TOOLS: &[&str] = &["inspect_task"];

const ID_FORMAT: IdFormat = IdFormat { prefix: "bg_", kind: KIND };

/// The name of the agent without a profile.
const GENERAL: &str = "agent";

pub(super) fn aliases(offered: &OfferedTools) -> Vec<ToolAlias> {
    let mut aliases: Vec<_> = offered
        .profiles
        .iter()
        .map(|profile| delegate(&profile.name, &profile.description))
        .collect();
    if aliases.is_empty() {
        aliases.push(delegate(GENERAL, "It does whatever it is told to."));
    }
    aliases.push(managing(
        "cancel_task",
        (
            "cancel_task",
            "Asks a task that you have spawned, or yourself, to stop, with everything below it.",
        ),
        cancel,
    ));
    aliases.push(managing(
        "send_message",
        (
            "send_message",
            "Says something to your parent, or to a task that you have spawned. If it asks \
             something, this is the answer.",
        ),
        send,
    ));
    aliases
}

/// The id of a task.
pub(super) fn id(task: &Task) -> String {
    ID_FORMAT.id(task)
}

/// The tool that runs one agent.
fn delegate(agent: &str, description: &str) -> ToolAlias {
    let name = format!("agent_run_{}", plain(agent));
    let told = format!("Has the agent {agent} do something and returns its answer. {description}");
    let agent: Arc<str> = agent.into();
    let run = move |cx: ToolContext, asked: Run| run(cx, agent.clone(), asked);
    managing("spawn_agent", (&name, &told), run)
}

/// The name with the characters and the length that providers accept.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(plain).take(50).collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Run {
    /// What it shall do. It sees nothing of your conversation.
    #[schemars(length(min = 1))]
    prompt: String,
}

fn run(
    cx: ToolContext,
    agent: Arc<str>,
    asked: Run,
) -> impl Future<Output = Result<Output, ToolError>> {
    let of = agent.clone();
    let begun = Box::pin(async move {
        let arguments = SpawnArguments::new(&asked.prompt).with("profile", profile_of(&cx, &of)?);
        let task = arguments.spawn_task(&cx).await?;
        Ok::<_, ToolError>(task_wait(&cx, vec![task], NO_LIMIT))
    });
    async move {
        let wait = begun.await?;
        let waited_tasks = wait.wait().await?;
        Box::pin(async move {
            let Some(waited) = waited_tasks.tasks.first() else {
                return Err(missing("list of tasks"));
            };
            if TaskStatus::of(&waited.task) != TaskStatus::Completed {
                return operations::foreground_result(
                    (wait, waited_tasks),
                    ID_FORMAT,
                    "send_message",
                )
                .await;
            }
            let answer = task_status::result(waited).await?;
            let steps = AgentReport::of(&waited.task).map_or(0, |report| report.steps);
            let told = Output::json(&json!({
                "agent_id": &*agent,
                "status": "completed",
                "response": answer,
                "output": {"text": answer},
                "steps": steps,
            }))?;
            Ok(mark_reported(told, &waited_tasks))
        })
        .await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Cancel {
    /// Whom to stop.
    target: Target,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "relation", rename_all = "snake_case", deny_unknown_fields)]
enum Target {
    /// Yourself.
    #[serde(rename = "self")]
    Own {},
    /// A task that you have spawned.
    Child {
        /// Its name or id.
        name: String,
    },
}

async fn cancel(cx: ToolContext, asked: Cancel) -> Result<Output, ToolError> {
    let task = match &asked.target {
        Target::Own {} => cx.task().task(&cx.task().id().to_string()).await?,
        Target::Child { name } => match task_ids::find(&cx, &[ID_FORMAT], name).await {
            Ok(task) => task,
            Err(Error::NotFound { .. } | Error::Forbidden(_)) => {
                return Output::json(&none_stopped(name));
            }
            Err(error) => return Err(error.into()),
        },
    };
    let stopping = operations::cancel(&task, None).await?;
    let record = &stopping.record;
    if stopping.reached == 0 && record.state.is_terminal() {
        return Output::json(&none_stopped(&id(record)));
    }
    Output::json(&json!({
        "status": "accepted",
        "root_task_id": id(record),
        "cancelled_count": stopping.reached,
    }))
}

/// The result of a cancel without a live task.
fn none_stopped(id: &str) -> Value {
    json!({
        "status": "failed",
        "root_task_id": id,
        "cancelled_count": 0,
        "error": "task_not_found",
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// Whom to tell.
    to: Recipient,
    /// What to say.
    message: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "relation", rename_all = "snake_case", deny_unknown_fields)]
enum Recipient {
    /// Your parent.
    Parent {},
    /// A task that you have spawned.
    Child {
        /// Its name or id.
        name: String,
    },
    /// An agent elsewhere; none of them can be reached.
    Agent {
        /// Its thread.
        #[expect(dead_code, reason = "no agent elsewhere can be reached")]
        thread_id: String,
        /// Which agent there.
        #[expect(dead_code, reason = "no agent elsewhere can be reached")]
        agent_id: Option<String>,
    },
}

async fn send(cx: ToolContext, asked: Send) -> Result<Output, ToolError> {
    let to = match &asked.to {
        Recipient::Parent {} if cx.task().lineage().parent.is_none() => Err("recipient_not_found"),
        Recipient::Parent {} => Ok("parent".to_owned()),
        Recipient::Agent { .. } => Err("permission_denied"),
        Recipient::Child { name } => match task_ids::find(&cx, &[ID_FORMAT], name).await {
            Ok(task) => Ok(task.id().to_string()),
            Err(Error::NotFound { .. } | Error::Name(_)) => Err("recipient_not_found"),
            Err(Error::Forbidden(_)) => Err("permission_denied"),
            Err(error) => return Err(error.into()),
        },
    };
    let sent = match &to {
        Ok(to) => match send_message(&cx, (to, DeliveryMode::Steer), &asked.message).await {
            Ok(SendOutcome::Answered(task, number)) => Ok(answered(&task, number)),
            Ok(SendOutcome::Sent(receipts)) => match receipts.first() {
                Some(receipt) => Ok(receipt.message.to_string()),
                None => Err("recipient_not_found".to_owned()),
            },
            Err(error) => Err(format!("recipient_unavailable: {error}")),
        },
        Err(error) => Err((*error).to_owned()),
    };
    Output::json(&match sent {
        Ok(message) => json!({"message_id": message, "status": "accepted"}),
        Err(error) => json!({"message_id": "", "status": "failed", "error": error}),
    })
}

/// The id of an answer: the task and the number of its question.
fn answered(task: &TaskRef, number: u32) -> String {
    format!("{}/{number}", ID_FORMAT.of_handle(task.handle()))
}
