//! The second set of tools of Codex.
//!
//! An agent is a path: `/root` is the top-level agent, and every other agent is `/root/`
//! with its handle, at any depth, because handles are unique. A target is a path, the
//! last part of one, or an id. A wait reports that something has come, not what: the
//! notices that follow have the content. A field `note`, which Codex does not have, says
//! that an agent has not ended. `followup_task` continues an interrupted agent.
//!
//! In Codex these tools have a namespace (`collaboration`). Its form on the wire is not
//! verified; here the tools have plain names.

use std::time::Duration;

use offshoot_agent::operations::{SendOutcome, TaskWait, send_message};
use offshoot_agent::{KIND, OfferedTools, Output, ToolContext, ToolError};
use offshoot_core::{DeliveryMode, Task};
use offshoot_runtime::{TaskRef, WaitResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::alias::{ToolAlias, ToolNames, managing, read_only, waiting};
use crate::operations::{self, MESSAGE_ARRIVED, SpawnArguments, profile_of, task_wait};
use crate::task_status::{TaskStatus, needs_answer};
use crate::{codex, task_ids};

pub(super) const NAMES: ToolNames = &[
    ("list_tasks", "list_agents"),
    ("wait_tasks", "wait_agent"),
    ("cancel_task", "interrupt_agent"),
];

pub(super) const KEPT_TOOLS: &[&str] = &["inspect_task"];

pub(super) fn aliases(offered: &OfferedTools) -> Vec<ToolAlias> {
    let mut aliases = vec![
        managing("spawn_agent", ("spawn_agent", codex::SPAWN), spawn),
        managing(
            "send_message",
            (
                "send_message",
                "Says something to an agent that is at work, or to your parent. If the agent \
                 asks something, this is the answer. It starts no turn.",
            ),
            |cx, asked| send(cx, asked, DeliveryMode::Steer),
        ),
        managing(
            "send_message",
            (
                "followup_task",
                "Gives an agent more to do: it begins with it when its turn has ended. One that \
                 has ended goes on with it.",
            ),
            |cx, asked| send(cx, asked, DeliveryMode::FollowUp),
        ),
        waiting(
            "wait_tasks",
            (
                "wait_agent",
                "Waits until one of your agents has ended or asks something, a message for you \
                 comes, or the time is over. What has come is not told here: it follows. Use it \
                 only if you can do nothing without it.",
            ),
            wait,
        ),
        managing(
            "cancel_task",
            (
                "interrupt_agent",
                "Asks an agent, and everything below it, to stop. With followup_task it goes on.",
            ),
            interrupt,
        ),
        read_only(
            "list_tasks",
            ("list_agents", "Lists your agents. Results come to you by themselves."),
            list,
        ),
    ];
    aliases.extend(codex::common(offered, NAMES));
    aliases
}

/// The path of the top-level agent.
const ROOT: &str = "/root";

/// The id of a task.
pub(super) fn id(task: &Task) -> String {
    path(task.handle())
}

fn path(handle: &str) -> String {
    format!("{ROOT}/{handle}")
}

/// The task that a target names.
async fn find(cx: &ToolContext, target: &str) -> Result<TaskRef, ToolError> {
    let target = target.trim().trim_end_matches('/');
    if is_root(target) {
        return Err(ToolError::new("Nothing was done: /root is the top-level agent."));
    }
    let name = target.rsplit('/').next().unwrap_or(target);
    if *name == *cx.task().handle() {
        return Err(ToolError::new("Nothing was done: that is you. Name another agent."));
    }
    Ok(task_ids::find(cx, &[], name).await?)
}

fn is_root(target: &str) -> bool {
    matches!(target, ROOT | "root")
}

/// The status of an agent.
async fn status(waited: &WaitResult) -> Result<Value, ToolError> {
    match TaskStatus::of(&waited.task) {
        TaskStatus::Cancelled => Ok(json!("interrupted")),
        _ => codex::status(waited).await,
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Spawn {
    /// A name for it, of lower-case letters, digits and underscores.
    #[schemars(regex(pattern = "^[a-z0-9_]+$"))]
    task_name: String,
    /// What it shall do.
    message: String,
    /// How much of your conversation it knows: "all", "none", or how many of the
    /// last turns; all of it unless you say.
    fork_turns: Option<String>,
    /// Which sort of agent.
    agent_type: Option<String>,
    /// Another model than yours, as <provider>/<name>.
    model: Option<String>,
    /// It has no effect here.
    reasoning_effort: Option<String>,
    /// It has no effect here.
    service_tier: Option<String>,
}

async fn spawn(cx: ToolContext, asked: Spawn) -> Result<Output, ToolError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if asked.task_name.is_empty() || !asked.task_name.chars().all(is_plain) {
        return Err(ToolError::new(
            "Nothing was started: task_name has lower-case letters, digits and underscores only.",
        ));
    }
    let context = context(asked.fork_turns.as_deref())?;
    let role = asked.agent_type.as_deref();
    let profile = role.map(|role| profile_of(&cx, role)).transpose()?.flatten();
    let arguments = SpawnArguments::new(&asked.message).with("name", Some(asked.task_name));
    let arguments = arguments.with("context", context).with("profile", profile);
    let child = arguments.with("model", asked.model).spawn(&cx).await?;
    let path = path(child.task.handle());
    let mut note = child.note(&path);
    if asked.reasoning_effort.is_some() || asked.service_tier.is_some() {
        note.push_str(codex::NO_EFFECT);
    }
    Output::json(&json!({"task_name": path, "note": note}))
}

/// The part of the conversation that an agent knows.
fn context(turns: Option<&str>) -> Result<Option<Value>, ToolError> {
    Ok(Some(match turns.map(str::trim) {
        None | Some("all") => json!("fork"),
        Some("none") => return Ok(None),
        Some(turns) => match turns.parse::<usize>() {
            Ok(turns) if turns > 0 => json!({"last_turns": turns}),
            _ => {
                return Err(ToolError::new(
                    "Nothing was started: fork_turns is \"all\", \"none\" or a number of turns, \
                     such as \"3\".",
                ));
            }
        },
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// The path or id of the agent; "/root" is the top-level agent.
    target: String,
    /// What to say.
    message: String,
}

async fn send(cx: ToolContext, asked: Send, mode: DeliveryMode) -> Result<Output, ToolError> {
    if asked.message.trim().is_empty() {
        return Err(ToolError::new("There is nothing to say: message is empty."));
    }
    if is_root(asked.target.trim()) && mode == DeliveryMode::Steer {
        return tell_root(&cx, &asked.message).await;
    }
    let task = find(&cx, &asked.target).await?;
    if mode == DeliveryMode::Steer && task.record().await?.state.is_terminal() {
        return Err(ToolError::new(format!(
            "Nothing was said: {} has ended, and a message starts no turn. Use followup_task.",
            path(task.handle())
        )));
    }
    let to = task.id().to_string();
    let said = send_message(&cx, (&to, mode), &asked.message).await?;
    let SendOutcome::Sent(receipts) = said else { return Ok(Output::text("")) };
    match receipts.first() {
        Some(receipt) if receipt.task != task.id() => {
            let goes_on = cx.task().task(&receipt.task.to_string()).await?;
            let path = path(goes_on.handle());
            Ok(Output::text(format!("It had ended: it goes on as {path}.")))
        }
        Some(_) => Ok(Output::text("")),
        None => Err(ToolError::new("No task received the message.")),
    }
}

/// Sends a message to the top-level agent, if that is the owner: an agent messages only
/// its owner and its own tasks.
async fn tell_root(cx: &ToolContext, message: &str) -> Result<Output, ToolError> {
    match cx.task().lineage().depth {
        1 => send_message(cx, ("parent", DeliveryMode::Steer), message)
            .await
            .map(|_| Output::text("")),
        0 => Err(ToolError::new("Nothing was said: you are /root.")),
        _ => Err(ToolError::new(
            "Nothing was said: another agent than /root has sent you off. What you have found \
             reaches it as your result; what you must know you can ask.",
        )),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitFor {
    /// How many milliseconds to wait, from 10000 to 3600000; 30000 unless you say.
    timeout_ms: Option<i64>,
}

/// The shortest and the longest wait in milliseconds.
const LEAST: u64 = 10_000;
const MOST: u64 = 3_600_000;

fn wait(cx: ToolContext, asked: WaitFor) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(async move {
        let millis = u64::try_from(asked.timeout_ms.unwrap_or(30_000)).unwrap_or(0);
        if millis > MOST {
            return Err(ToolError::new(format!("timeout_ms is at most {MOST}. Say less.")));
        }
        let raised = match millis < LEAST {
            true => format!(" timeout_ms was raised to {LEAST}."),
            false => String::new(),
        };
        cx.preceding_spawns().await;
        // The agent reads what has come when this call returns.
        if cx.has_unread().await? {
            return Ok(Err(told(&format!("{COME}{raised}"), false)?));
        }
        let all = operations::list_tasks(&cx).await?;
        let mut live = Vec::new();
        for task in all.iter().filter(|task| !task.state.is_terminal()) {
            live.push(cx.task().task(&task.id().to_string()).await?);
        }
        if live.is_empty() {
            return Ok(Err(told(
                "Nothing is to be waited for: no agent of yours is live.",
                false,
            )?));
        }
        let span = Duration::from_millis(millis.max(LEAST));
        Ok(Ok((TaskWait { any: true, ..task_wait(&cx, live, span) }, raised)))
    });
    async move {
        let (wait, raised) = match begun.await? {
            Ok(begun) => begun,
            Err(output) => return Ok(output),
        };
        let waited_tasks = wait.wait().await?;
        let asking = waited_tasks.tasks.iter().filter(|waited| needs_answer(waited));
        let mut said: Vec<_> = asking
            .map(|waited| operations::question_note(&id(&waited.task), "send_message"))
            .collect();
        if waited_tasks.has_message {
            said.push(MESSAGE_ARRIVED.to_owned());
        }
        let is_over = said.is_empty() && !waited_tasks.tasks.iter().any(WaitResult::is_ended);
        let told_first = if is_over { "The time is over, and nothing has come." } else { COME };
        said.insert(0, format!("{told_first}{raised}"));
        told(&said.join("\n"), is_over)
    }
}

/// The text where something has come.
const COME: &str = "Something has come for you. It follows.";

fn told(message: &str, timed_out: bool) -> Result<Output, ToolError> {
    Output::json(&json!({"message": message, "timed_out": timed_out}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Interrupt {
    /// The path or id of the agent.
    target: String,
}

async fn interrupt(cx: ToolContext, asked: Interrupt) -> Result<Output, ToolError> {
    let task = find(&cx, &asked.target).await?;
    let before = task.wait().timeout(Duration::ZERO).await?;
    let before = status(&before).await?;
    operations::cancel(&task, None).await?;
    Output::json(&json!({"previous_status": before}))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only those at or below this path.
    path_prefix: Option<String>,
}

async fn list(cx: ToolContext, asked: List) -> Result<Output, ToolError> {
    let prefix = asked.path_prefix.as_deref().unwrap_or(ROOT).trim().trim_end_matches('/');
    let prefix = match prefix {
        prefix if is_root(prefix) => ROOT.to_owned(),
        prefix if prefix.starts_with('/') => prefix.to_owned(),
        prefix => path(prefix),
    };
    let is_below = |path: &str| {
        path.strip_prefix(&*prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut agents = Vec::new();
    if is_below(ROOT) {
        // Agents below it do not know its status.
        let status = (cx.task().lineage().depth == 0).then_some("running");
        agents.push(json!({"agent_name": ROOT, "agent_status": status}));
    }
    for task in operations::list_tasks(&cx).await?.iter().filter(|task| &*task.spec.kind == KIND) {
        let path = id(task);
        if is_below(&path) {
            let task = cx.task().task(&task.id().to_string()).await?;
            let waited = task.wait().timeout(Duration::ZERO).await?;
            agents.push(json!({"agent_name": path, "agent_status": status(&waited).await?}));
        }
    }
    Output::json(&json!({"agents": agents}))
}
