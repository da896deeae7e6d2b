//! Operations that the tools of all dialects share.
//!
//! They add arguments and wording to the [operations](offshoot_agent::operations)
//! of the built-in tools, and have no effects of their own.

use std::time::Duration;

use offshoot_agent::operations::{self, CancelOutcome, SpawnedAgent, TaskWait, WaitedTasks};
use offshoot_agent::{Output, ProfileUnavailable, ToolContext, ToolError};
use offshoot_core::{Task, text};
use offshoot_runtime::{Error, TaskRef, WaitResult};
use serde_json::{Map, Value};

use crate::task_ids::{IdFormat, missing};
use crate::task_status::{self, TaskStatus, mark_reported, needs_answer};

/// The arguments of a `spawn_agent` call.
#[derive(Debug, Default)]
pub(crate) struct SpawnArguments(Map<String, Value>);

impl SpawnArguments {
    /// Arguments for an agent with this task.
    pub(crate) fn new(task: &str) -> Self {
        Self::default().with("task", Some(task))
    }

    /// Sets a field, if there is a value.
    pub(crate) fn with(mut self, field: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(field.to_owned(), value.into());
        }
        self
    }

    /// Spawns the agent, or finds the live one with the same task.
    pub(crate) async fn spawn(self, cx: &ToolContext) -> Result<SpawnedChild, ToolError> {
        Ok(match operations::spawn_agent(cx, &Value::Object(self.0)).await? {
            SpawnedAgent::New { task, .. } => SpawnedChild { task, is_new: true },
            SpawnedAgent::Existing(task) => SpawnedChild { task, is_new: false },
        })
    }

    /// The same for a call that waits for the agent: a new one and an existing one
    /// have the same result.
    pub(crate) async fn spawn_task(self, cx: &ToolContext) -> Result<TaskRef, ToolError> {
        Ok(self.spawn(cx).await?.task)
    }
}

/// An agent that performs the requested task.
pub(crate) struct SpawnedChild {
    pub(crate) task: TaskRef,
    /// Whether this call spawned it.
    is_new: bool,
}

impl SpawnedChild {
    /// A note for the model that calls the agent `id`.
    pub(crate) fn note(&self, id: &str) -> String {
        if self.is_new { running_note(id) } else { existing_note(id) }
    }
}

/// The state of a spawning call once the agent is spawned.
pub(crate) enum SpawnCall {
    /// The call returns this at once.
    Done(Output),
    /// The call returns when this wait ends.
    Waits(TaskWait),
}

/// Role names that dialects use for an agent without a profile.
const GENERAL_ROLES: [&str; 5] = ["agent", "default", "general-purpose", "task", "worker"];

/// The profile of a role, or none for a role that needs no profile.
///
/// Whether the agent may spawn that profile is checked by `spawn_agent`.
pub(crate) fn profile_of(cx: &ToolContext, role: &str) -> Result<Option<String>, ToolError> {
    let role = role.trim();
    if GENERAL_ROLES.contains(&role) {
        return Ok(None);
    }
    if cx.task().other_agent_kinds().iter().any(|kind| *kind.kind == *role) {
        return Ok(Some(role.to_owned()));
    }
    let found = match cx.profile_source() {
        Some(source) => source.find(role, cx.folder()).map(drop),
        None => {
            Err(ProfileUnavailable::Unknown { name: role.into(), known: GENERAL_ROLES[0].into() })
        }
    };
    match found {
        Ok(()) => Ok(Some(role.to_owned())),
        Err(error) => Err(ToolError::new(format!("Nothing was started: {error}."))),
    }
}

/// The time limit of a wait in a dialect that sets none.
pub(crate) const NO_LIMIT: Duration = Duration::MAX;

/// A wait for all of these tasks.
pub(crate) fn task_wait(cx: &ToolContext, tasks: Vec<TaskRef>, timeout: Duration) -> TaskWait {
    TaskWait::new(cx, tasks, timeout)
}

/// The result of an agent in the foreground, for dialects whose tools return plain
/// text: its answer alone. An agent that has failed is a failed call.
pub(crate) async fn foreground_result(
    (wait, waited_tasks): (TaskWait, WaitedTasks),
    ids: IdFormat,
    answer_tool: &str,
) -> Result<Output, ToolError> {
    let (Some(task), Some(waited)) = (wait.tasks.first(), waited_tasks.tasks.first()) else {
        return Err(missing("list of tasks"));
    };
    let id = ids.id(&waited.task);
    let output = match TaskStatus::of(&waited.task) {
        TaskStatus::Completed => {
            Output::text(task_status::result(waited).await?.unwrap_or_default())
        }
        _ if needs_answer(waited) => {
            let question = task_status::question(task).await?;
            let question = question.map(|question| question.text.to_string());
            let question = text::cut(question.as_deref().unwrap_or_default(), QUESTION_LIMIT);
            let attributes = [("task", task.handle()), ("as", &id)];
            Output::text(question_note(&id, answer_tool)).notice("question", &attributes, &question)
        }
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::NeedsInput => {
            match waited_tasks.has_message {
                true => Output::text(format!("{MESSAGE_ARRIVED} {}", running_note(&id))),
                false => Output::text(running_note(&id)),
            }
        }
        TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Lost => {
            Output::failure(offshoot_core::digest(&waited.task, usize::MAX))
        }
    };
    Ok(mark_reported(output, &waited_tasks))
}

/// The number of characters that are shown of a question.
const QUESTION_LIMIT: usize = 4_000;

/// All tasks that the agent can see except itself, ended ones included.
pub(crate) async fn list_tasks(cx: &ToolContext) -> Result<Vec<Task>, ToolError> {
    cx.preceding_spawns().await;
    let mut all = Vec::new();
    let mut page = cx.task().tasks().await?;
    loop {
        all.extend(page.items.into_iter().filter(|task| task.id() != cx.task().id()));
        let Some(next) = page.next else { return Ok(all) };
        page = cx.task().tasks().after(next).await?;
    }
}

/// Cancels a task and everything below it. A task that has ended stays unchanged.
pub(crate) async fn cancel(
    task: &TaskRef,
    reason: Option<&str>,
) -> Result<CancelOutcome, ToolError> {
    match operations::cancel_task(task, reason).await {
        Err(Error::Ended { .. }) => Ok(CancelOutcome { reached: 0, record: task.record().await? }),
        outcome => Ok(outcome?),
    }
}

/// A note for the model on a spawned agent that has not ended.
pub(crate) fn running_note(id: &str) -> String {
    format!(
        "{id} works in the background. NOTHING IS DONE YET, and there is no result to report or to \
         guess. Its result will come to you by itself, as a notice, when it has ended. Go on with \
         other work now, or end your turn. Do not poll."
    )
}

/// A note for the model on a live agent that already has the requested task.
fn existing_note(id: &str) -> String {
    format!(
        "Nothing was started: {id} is doing exactly this task already. Its result comes to you by \
         itself."
    )
}

/// A note for the model on a task that needs an answer.
pub(crate) fn question_note(id: &str, answer_tool: &str) -> String {
    format!(
        "{id} has no result yet: it asks something and waits. Answer with {answer_tool}; it goes \
         on in the background then, and its result will come to you by itself."
    )
}

/// A note for the model on a task that had not ended when the wait did.
pub(crate) fn unfinished_note(
    waited_tasks: &WaitedTasks,
    waited: &WaitResult,
    answer_tool: &str,
) -> String {
    let handle = waited.task.handle();
    match needs_answer(waited) {
        true => question_note(handle, answer_tool),
        false if waited_tasks.has_message => format!("{MESSAGE_ARRIVED} {}", running_note(handle)),
        false => running_note(handle),
    }
}

/// A note for the model on a wait that a message ended.
pub(crate) const MESSAGE_ARRIVED: &str = "A message for you has come before that. It follows; if it is \
     meant for the end of your turn, end your turn to read it.";
