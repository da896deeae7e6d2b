//! The tools of everruns for tasks of all kinds.

use std::time::Duration;

use offshoot_agent::operations::{SendOutcome, send_message};
use offshoot_agent::{KIND, Output, ToolContext, ToolError};
use offshoot_core::{BlockKind, DeliveryMode, Outcome, Stamp, Task, digest, text};
use offshoot_runtime::{PeekBlock, TaskRef};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{FOREGROUND, executor, find, id, subagent_id, task_id};
use crate::alias::{ToolAlias, managing, read_only, waiting};
use crate::operations::{self, MESSAGE_ARRIVED, task_wait};
use crate::task_ids::{hex, missing};
use crate::task_status::{self, TaskStatus, mark_reported, needs_answer};

/// The number of characters that are shown of a result.
const SUMMARY: usize = 2_048;

/// The number of messages of a task that are shown.
const MESSAGES: usize = 20;

/// The shortest and the longest wait.
const LEAST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(86_400);

pub(super) fn aliases() -> [ToolAlias; 5] {
    [
        read_only(
            "list_tasks",
            ("list_tasks", "Lists your background tasks. Results come to you by themselves."),
            list,
        ),
        read_only(
            "inspect_task",
            ("get_task", "Shows one of your tasks and the end of its conversation."),
            get,
        ),
        managing(
            "send_message",
            ("message_task", "Says something to a task, or answers what it asks."),
            message_task,
        ),
        managing(
            "cancel_task",
            (
                "cancel_task",
                "Asks a task, and everything below it, to stop. Its end comes to you as a notice.",
            ),
            cancel,
        ),
        waiting(
            "wait_tasks",
            (
                "wait_task",
                "Waits until a task has ended or asks something, a message for you comes, or the \
                 time is over. Use it only if you can do nothing without the result.",
            ),
            wait,
        ),
    ]
}

fn state(task: &Task) -> &'static str {
    match TaskStatus::of(task) {
        TaskStatus::Queued => "queued",
        TaskStatus::Running => "running",
        TaskStatus::NeedsInput => "awaiting_input",
        TaskStatus::Completed => "succeeded",
        TaskStatus::Failed | TaskStatus::Lost => "failed",
        TaskStatus::Cancelled => "canceled",
    }
}

fn kind(task: &Task) -> &str {
    match &*task.spec.kind {
        KIND => "subagent",
        "command" => "background_tool",
        kind => kind,
    }
}

fn finished_at(task: &Task) -> Option<Stamp> {
    task.state.is_terminal().then_some(task.since)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only those in this state.
    state: Option<States>,
    /// Only those of this kind, such as "subagent".
    kind: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum States {
    Queued,
    Running,
    AwaitingInput,
    Succeeded,
    Failed,
    Canceled,
}

impl States {
    fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::AwaitingInput => "awaiting_input",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

async fn list(cx: ToolContext, asked: List) -> Result<Output, ToolError> {
    let all = operations::list_tasks(&cx).await?;
    let wanted = all.iter().filter(|task| {
        asked.state.is_none_or(|wanted| wanted.word() == state(task))
            && asked.kind.as_deref().is_none_or(|wanted| wanted == kind(task))
    });
    let tasks: Vec<_> = wanted
        .map(|task| {
            json!({
                "id": id(task),
                "kind": kind(task),
                "display_name": task.handle(),
                "state": state(task),
                "state_detail": detail(task),
                "progress": progress(task),
                "summary": summary(task),
                "created_at": task.spec.spawned_at,
                "finished_at": finished_at(task),
            })
        })
        .collect();
    Output::json(&json!({"count": tasks.len(), "tasks": tasks}))
}

/// The detail of a state.
fn detail(task: &Task) -> Option<String> {
    match TaskStatus::of(task) {
        TaskStatus::Running if task.cancel.is_some() => Some("asked to stop".to_owned()),
        TaskStatus::Running | TaskStatus::Lost => Some(task.state.to_string()),
        _ => None,
    }
}

fn progress(task: &Task) -> Option<Value> {
    task_status::progress_note(task).map(|note| json!({"label": note}))
}

fn summary(task: &Task) -> Option<String> {
    let digest = || digest(task, SUMMARY);
    match task.ended()? {
        Outcome::Completed { value, .. } => match value.decode::<String>() {
            Ok(said) => Some(text::cut(&said, SUMMARY).into_owned()),
            Err(_) => Some(digest()),
        },
        _ => Some(digest()),
    }
}

/// All fields of a task.
async fn whole(task: &TaskRef, record: &Task) -> Result<Value, ToolError> {
    let request = task_status::question(task)
        .await?
        .map(|asked| json!({"id": request_id(asked.number), "prompt": asked.text}));
    let error = matches!(TaskStatus::of(record), TaskStatus::Failed | TaskStatus::Lost);
    let error = match error {
        true => task_status::result_of(task).await?,
        false => None,
    };
    let error = error.map(|message| json!({"kind": record.state.to_string(), "message": message}));
    let mut told = json!({
        "id": id(record),
        "session_id": format!("session_{}", hex(record.spec.lineage.session)),
        "kind": kind(record),
        "display_name": record.handle(),
        "spec": {"task": task_status::purpose(record), "blueprint": task_status::profile(record)},
        "state": state(record),
        "attempt": record.attempts,
        "wake_policy": record.spec.wake,
        "created_at": record.spec.spawned_at,
        "updated_at": record.since,
    });
    let seldom = [
        ("state_detail", json!(detail(record))),
        ("progress", json!(progress(record))),
        ("input_request", json!(request)),
        ("cancel_requested_at", json!(record.cancel.as_ref().map(|cancel| cancel.at))),
        ("summary", json!(summary(record))),
        ("error", json!(error)),
        ("links", json!({"child_session_id": subagent_id(record.id())})),
        ("started_at", json!(record.started_at)),
        ("finished_at", json!(finished_at(record))),
    ];
    for (key, value) in seldom.into_iter().filter(|(_, value)| !value.is_null()) {
        told[key] = value;
    }
    Ok(told)
}

fn request_id(number: u32) -> String {
    format!("request_{number}")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// Its id or name.
    task_id: String,
}

async fn get(cx: ToolContext, asked: One) -> Result<Output, ToolError> {
    let task = find(&cx, &asked.task_id).await?;
    let record = task.record().await?;
    let blocks = task.peek().last(MESSAGES).limit(SUMMARY).await?.blocks;
    let said = blocks.iter().filter_map(|block| message(&record, block));
    let messages: Vec<_> = said.collect();
    Output::json(&json!({"task": whole(&task, &record).await?, "messages": messages}))
}

/// A message to a task or from it, numbered by its position in the conversation.
fn message(task: &Task, block: &PeekBlock) -> Option<Value> {
    let direction = match block.kind {
        BlockKind::User | BlockKind::Notice => "inbound",
        BlockKind::Assistant => "outbound",
        _ => return None,
    };
    let number = format!("{}{:012x}", &hex(task.id())[12..], block.position);
    Some(json!({
        "id": format!("tmsg_{number}"),
        "task_id": id(task),
        "direction": direction,
        "content": [{"type": "text", "text": block.text}],
        "created_at": task.spec.spawned_at,
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageTask {
    /// Its id or name.
    task_id: String,
    /// What to say.
    message: String,
    /// The id of the input request that this answers.
    in_reply_to: Option<String>,
}

async fn message_task(cx: ToolContext, asked: MessageTask) -> Result<Output, ToolError> {
    let task = find(&cx, &asked.task_id).await?;
    if let Some(wanted) = &asked.in_reply_to {
        let open = task_status::question(&task).await?.map(|asked| request_id(asked.number));
        // A repeated call has answered it already.
        let is_known = task.questions().await?.iter().any(|one| request_id(one.number) == *wanted);
        if !is_known || open.is_some_and(|open| open != *wanted) {
            return Err(ToolError::new(format!(
                "Nothing was said: {} does not wait for the answer to {wanted:?}.",
                task.handle()
            )));
        }
    }
    let to = task.id().to_string();
    let (task, message) =
        match send_message(&cx, (&to, DeliveryMode::Steer), &asked.message).await? {
            SendOutcome::Answered(task, number) => (task.id(), request_id(number)),
            SendOutcome::Sent(receipts) => match receipts.first() {
                Some(receipt) => (receipt.task, format!("tmsg_{}", hex(receipt.message))),
                None => return Err(ToolError::new("No task received the message.")),
            },
        };
    Output::json(&json!({
        "task_id": task_id(task),
        "message_id": message,
        "recorded": true,
        "delivery": "delivered",
    }))
}

async fn cancel(cx: ToolContext, asked: One) -> Result<Output, ToolError> {
    let task = find(&cx, &asked.task_id).await?;
    let stopping = operations::cancel(&task, None).await?;
    Output::json(&json!({
        "task_id": id(&stopping.record),
        "state": state(&stopping.record),
        "cancel_requested": true,
        "executor": executor(&stopping),
    }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WaitFor {
    /// Its id or name.
    task_id: String,
    /// How many seconds to wait at the most; 300 unless you say.
    #[schemars(range(min = 1, max = 86_400))]
    timeout_seconds: Option<u64>,
}

fn wait(cx: ToolContext, asked: WaitFor) -> impl Future<Output = Result<Output, ToolError>> {
    let begun = Box::pin(async move {
        let task = find(&cx, &asked.task_id).await?;
        let span = asked.timeout_seconds.map_or(FOREGROUND, Duration::from_secs);
        Ok::<_, ToolError>(task_wait(&cx, vec![task], span.clamp(LEAST, LONGEST)))
    });
    async move {
        let wait = begun.await?;
        let waited_tasks = wait.wait().await?;
        Box::pin(async move {
            let (task, waited) = match (wait.tasks.first(), waited_tasks.tasks.first()) {
                (Some(task), Some(waited)) => (task, waited),
                _ => return Err(missing("task")),
            };
            let record = &waited.task;
            let is_over = !waited_tasks.has_message && !waited.is_ended() && !needs_answer(waited);
            let mut told = json!({"task": whole(task, record).await?, "timed_out": is_over});
            if waited_tasks.has_message {
                told["message"] = json!(MESSAGE_ARRIVED);
            } else if is_over {
                told["message"] = json!(operations::running_note(record.handle()));
            }
            Ok(mark_reported(Output::json(&told)?, &waited_tasks))
        })
        .await
    }
}
