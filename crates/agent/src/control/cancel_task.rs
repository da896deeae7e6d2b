//! `cancel_task`: stops a task and everything below it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handle or id of a task you sent off, or "self".
    task: String,
    /// Why; it is recorded.
    reason: Option<String>,
}

pub(super) fn tool() -> impl Tool {
    Function::new(
        "cancel_task",
        "Asks a task you sent off, and everything it has sent off, to stop. Its end comes to you \
         as a notice, and says whether it had finished before. With \"self\" you stop yourself \
         and everything you have sent off.",
        cancel,
    )
    .idempotent()
    .managing()
}

async fn cancel(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    cx.turn.comes().await;
    let own = asked.task.trim() == "self";
    let handle = if own { cx.cx.id().to_string() } else { asked.task.clone() };
    let task = cx.cx.task(&handle).await?;
    let reason = asked.reason.as_deref().unwrap_or("no longer needed");
    let reached = task.cancel(reason).await?;
    let ended = task.record().await?.state.is_terminal();
    Ok(Output::text(match reached {
        0 if ended => format!("{} had ended before: nothing was stopped.", task.handle()),
        0 => format!("{} was asked to stop before, and has not stopped yet.", task.handle()),
        1 => format!("{} was asked to stop. It has not stopped yet.", task.handle()),
        live => format!(
            "{} and {} tasks below it were asked to stop. They have not stopped yet.",
            task.handle(),
            live - 1
        ),
    }))
}
