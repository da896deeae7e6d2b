//! `ask`: asks the owner and waits for the answer.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What you must know to go on.
    question: String,
}

pub(super) fn tool() -> impl Tool {
    Function::new(
        "ask",
        "Asks whoever sent you off, and waits until the answer comes. Use it only if you cannot \
         go on without it.",
        ask,
    )
    .idempotent()
    .long_running()
}

async fn ask(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let answer = cx.cx.ask(&asked.question).key(&format!("call {}", cx.key)).await?;
    Ok(Output::text(match answer.decode::<String>() {
        Ok(text) => text,
        Err(_) => answer.as_json().map_err(|error| ToolError::of(&error))?.to_owned(),
    }))
}
