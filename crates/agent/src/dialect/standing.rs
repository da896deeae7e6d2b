//! How tasks stand, for dialects that tell it in other words.

use offshoot_core::{FailureKind, Outcome, Question, Task, TaskState, WaitingOn};
use offshoot_runtime::{TaskRef, WaitEnd, WaitResult};

use crate::brief::Brief;
use crate::control::{self, Stand};
use crate::report::AgentReport;
use crate::tool::{Output, ToolError};

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has not started.
    Queued,
    /// It is at work, or waits for what goes on by itself.
    Running,
    /// It waits for an answer.
    Asking,
    Completed,
    Failed,
    Cancelled,
    /// Nobody knows whether its work took effect.
    Lost,
}

impl Standing {
    pub(super) fn of(task: &Task) -> Self {
        match task.state {
            TaskState::Queued => Self::Queued,
            // One that was asked to stop needs no answer.
            TaskState::Waiting(WaitingOn::Input(_) | WaitingOn::Approval(_))
                if task.cancel.is_none() =>
            {
                Self::Asking
            }
            TaskState::Running | TaskState::Waiting(_) => Self::Running,
            TaskState::Completed => Self::Completed,
            TaskState::Failed => Self::Failed,
            TaskState::Cancelled => Self::Cancelled,
            TaskState::Lost => Self::Lost,
        }
    }

    /// Whether it has ended.
    pub(super) fn is_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Asking)
    }
}

/// Whether a task waits for an answer of whoever waited for it. What somebody else
/// is asked is nothing that could be answered.
pub(super) fn is_asking(waited: &WaitResult) -> bool {
    waited.end == WaitEnd::NeedsInput && waited.task.cancel.is_none()
}

/// All that a task has ended with, if it has: its answer, or why there is none.
pub(super) async fn result(waited: &WaitResult) -> Result<Option<String>, ToolError> {
    Ok(match waited.outcome() {
        Some(Outcome::Failed(failure)) => Some(failure.to_string()),
        Some(Outcome::Lost { reason }) => {
            Some(format!("lost: whether its work took effect is unknown: {reason}"))
        }
        _ => control::result(waited).await?,
    })
}

/// The same of a task that is not waited for.
pub(super) async fn result_of(task: &TaskRef) -> Result<Option<String>, ToolError> {
    let waited = task.wait().timeout(std::time::Duration::ZERO).await?;
    result(&waited).await
}

/// The code with which a command has exited, if it has.
pub(super) fn exit(task: &Task) -> Option<i32> {
    match task.ended()? {
        Outcome::Completed { .. } => Some(0),
        Outcome::Failed(failure) => match failure.kind {
            FailureKind::Exit(code) => Some(code),
            _ => None,
        },
        Outcome::Cancelled { .. } | Outcome::Lost { .. } => None,
    }
}

/// What a task asks that waits for an answer.
pub(super) async fn question(task: &TaskRef) -> Result<Option<Question>, ToolError> {
    let questions = task.questions().await?;
    Ok(questions.into_iter().find(|question| question.closed.is_none()))
}

/// What a task is for.
pub(super) fn purpose(task: &Task) -> Option<String> {
    brief(task).map(|brief| brief.task)
}

/// The profile of which a task was made.
pub(super) fn profile(task: &Task) -> Option<String> {
    brief(task).and_then(|brief| brief.profile).map(String::from)
}

fn brief(task: &Task) -> Option<Brief> {
    control::brief(task)
}

/// What a task says of its progress.
pub(super) fn note(task: &Task) -> Option<String> {
    AgentReport::of(task).and_then(|report| report.note)
}

/// An output that tells how tasks have ended: none of them is told again.
pub(super) fn telling(mut output: Output, stand: &Stand) -> Output {
    let ended = stand.tasks.iter().filter(|one| one.is_ended());
    output.beside().tells.extend(ended.map(|one| one.task.id()));
    output
}
