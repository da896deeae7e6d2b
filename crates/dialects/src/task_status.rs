//! The status of tasks, for dialects that report it in other words.

use std::time::Duration;

use offshoot_agent::operations::{self, WaitedTasks};
use offshoot_agent::{AgentReport, Brief, Output, ToolError};
use offshoot_core::{FailureKind, Outcome, Question, Task, TaskState, WaitingOn};
use offshoot_runtime::{TaskRef, WaitEnd, WaitResult};

/// The status of a task, as far as dialects tell statuses apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskStatus {
    /// It has not started.
    Queued,
    /// It runs, or waits for something other than an answer.
    Running,
    /// It waits for an answer.
    NeedsInput,
    Completed,
    Failed,
    Cancelled,
    /// Whether its work took effect is unknown.
    Lost,
}

impl TaskStatus {
    pub(crate) fn of(task: &Task) -> Self {
        match task.state {
            TaskState::Queued => Self::Queued,
            // A task that is being cancelled needs no answer.
            TaskState::Waiting(WaitingOn::Input(_) | WaitingOn::Approval(_))
                if task.cancel.is_none() =>
            {
                Self::NeedsInput
            }
            TaskState::Running | TaskState::Waiting(_) => Self::Running,
            TaskState::Completed => Self::Completed,
            TaskState::Failed => Self::Failed,
            TaskState::Cancelled => Self::Cancelled,
            TaskState::Lost => Self::Lost,
        }
    }

    pub(crate) fn is_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::NeedsInput)
    }
}

/// Whether a task waits for an answer that the waiting agent can give.
pub(crate) fn needs_answer(waited: &WaitResult) -> bool {
    waited.end == WaitEnd::NeedsInput && waited.task.cancel.is_none()
}

/// The whole result of a task that has ended: its answer, or why there is none.
pub(crate) async fn result(waited: &WaitResult) -> Result<Option<String>, ToolError> {
    Ok(match waited.outcome() {
        Some(Outcome::Failed(failure)) => Some(failure.to_string()),
        Some(Outcome::Lost { reason }) => {
            Some(format!("lost: whether its work took effect is unknown: {reason}"))
        }
        _ => operations::result(waited).await?,
    })
}

/// The same for a task that no wait has returned.
pub(crate) async fn result_of(task: &TaskRef) -> Result<Option<String>, ToolError> {
    let waited = task.wait().timeout(Duration::ZERO).await?;
    result(&waited).await
}

/// The exit code of a command that has ended with one.
pub(crate) fn exit_code(task: &Task) -> Option<i32> {
    match task.ended()? {
        Outcome::Completed { .. } => Some(0),
        Outcome::Failed(failure) => match failure.kind {
            FailureKind::Exit(code) => Some(code),
            _ => None,
        },
        Outcome::Cancelled { .. } | Outcome::Lost { .. } => None,
    }
}

/// The open question of a task.
pub(crate) async fn question(task: &TaskRef) -> Result<Option<Question>, ToolError> {
    let questions = task.questions().await?;
    Ok(questions.into_iter().find(|question| question.closed.is_none()))
}

/// The task text of an agent.
pub(crate) fn purpose(task: &Task) -> Option<String> {
    Brief::of(task).map(|brief| brief.task)
}

/// The profile of an agent.
pub(crate) fn profile(task: &Task) -> Option<String> {
    Brief::of(task).and_then(|brief| brief.profile).map(String::from)
}

/// The progress note of an agent.
pub(crate) fn progress_note(task: &Task) -> Option<String> {
    AgentReport::of(task).and_then(|report| report.note)
}

/// Records that an output reports the ends of these tasks, so that no notice
/// repeats them.
pub(crate) fn mark_reported(output: Output, waited_tasks: &WaitedTasks) -> Output {
    let ended = waited_tasks.tasks.iter().filter(|waited| waited.is_ended());
    ended.fold(output, |output, waited| output.reports_end(waited.task.id()))
}
