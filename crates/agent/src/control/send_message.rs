//! `send_message`: steers a task, answers its question, or tells the owner.

use offshoot_core::Mode;
use offshoot_runtime::Address;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handle or id of a task, "parent" for whoever sent you off, or "all"
    /// for all your live tasks.
    to: String,
    /// What to say.
    text: String,
    /// When it is read.
    #[serde(default)]
    mode: Reads,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reads {
    /// Before its next step.
    #[default]
    Steer,
    /// At once: what its model says at the moment is cut off.
    Interrupt,
    /// When its turn has ended.
    FollowUp,
}

pub(super) fn tool() -> impl Tool {
    Function::new(
        "send_message",
        "Says something to a task you sent off, or to whoever sent you off. If the task waits for \
         an answer to its question, this is the answer. A task that has ended goes on with it in \
         a new task.",
        send,
    )
    .idempotent()
}

async fn send(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    if !matches!(asked.to.trim(), "parent" | "all") {
        let task = cx.cx.task(&asked.to).await?;
        if let Some(number) = task.record().await?.state.question() {
            task.answer(number, &asked.text).await?;
            return Ok(Output::text(format!("Answered question {number} of {}.", task.handle())));
        }
    }
    let mode = match asked.mode {
        Reads::Steer => Mode::Steer,
        Reads::Interrupt => Mode::Interrupt,
        Reads::FollowUp => Mode::FollowUp,
    };
    let sending = cx.cx.send(Address::Handle(&asked.to), &asked.text).mode(mode);
    let receipts = sending.key(&format!("call {}", cx.key)).await?;
    let mut lines: Vec<_> =
        receipts.iter().map(|receipt| format!("Queued for {}.", receipt.task)).collect();
    lines.extend(
        receipts.refused().iter().map(|no| format!("Not sent to {}: {}.", no.task, no.error)),
    );
    if lines.is_empty() {
        lines.push("You have no live tasks: nobody was told.".to_owned());
    }
    Ok(Output::text(lines.join("\n")))
}
