//! `cancel_task`: stops a task and everything below it.

use offshoot_core::Task;
use offshoot_runtime::{Error, TaskRef};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::built_in_tools::CANCEL_TASK;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handle or id of a task you spawned, or "self".
    task: String,
    /// Why; it is recorded.
    reason: Option<String>,
}

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &CANCEL_TASK,
        "Asks a task you spawned, and everything it has spawned, to stop. Its end comes to you \
         as a notice, and says whether it had finished before. With \"self\" you stop yourself \
         and everything you have spawned.",
        cancel,
    )
}

async fn cancel(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    cx.turn.wait().await;
    let own = asked.task.trim() == "self";
    let handle = if own { cx.cx.id().to_string() } else { asked.task.clone() };
    let task = cx.cx.task(&handle).await?;
    let CancelOutcome { reached, record } = cancel_task(&task, asked.reason.as_deref()).await?;
    let ended = record.state.is_terminal();
    Ok(Output::text(match reached {
        0 if ended => format!("{} had ended before: nothing was stopped.", task.handle()),
        0 => format!("{} was asked to stop before, and has not stopped yet.", task.handle()),
        1 => format!("{} was asked to stop. It has not stopped yet.", task.handle()),
        2 => format!(
            "{} and the task below it were asked to stop. They have not stopped yet.",
            task.handle()
        ),
        live => format!(
            "{} and {} tasks below it were asked to stop. They have not stopped yet.",
            task.handle(),
            live - 1
        ),
    }))
}

/// The effect of a cancel.
#[derive(Debug)]
pub struct CancelOutcome {
    /// The number of live tasks that it asked to stop for the first time.
    pub reached: usize,
    /// The record of the task after it.
    pub record: Task,
}

/// Asks a task and everything below it to stop.
pub async fn cancel_task(task: &TaskRef, reason: Option<&str>) -> Result<CancelOutcome, Error> {
    let reached = task.cancel(reason.unwrap_or("no longer needed")).await?;
    Ok(CancelOutcome { reached, record: task.record().await? })
}
