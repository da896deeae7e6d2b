//! `ask`: asks the owner and waits for the answer.

use offshoot_core::Payload;
use offshoot_runtime::Error;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::built_in_tools::ASK;
use crate::delivery::interrupted;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What you must know to go on.
    question: String,
}

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &ASK,
        "Asks the agent that spawned you, and waits until the answer comes. Use it only if you \
         cannot go on without it. A message that interrupts you withdraws the question.",
        ask,
    )
    .watchful()
}

async fn ask(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let asking = cx.cx.ask(&asked.question).key(&format!("call {}", cx.key));
    let agent = cx.cx.clone();
    match asking.unless(async move { interrupted(&agent).await }).await {
        Ok(answer) => answer_text(&answer),
        // An earlier attempt may have withdrawn the question.
        Err(Error::Cancelled) if !cx.cx.is_cancelled() => Err(withdrawn()),
        Err(error) => Err(error.into()),
    }
}

fn answer_text(answer: &Payload) -> Result<Output, ToolError> {
    Ok(Output::text(match answer.decode::<String>() {
        Ok(text) => text,
        Err(_) => answer.as_json().map_err(|error| ToolError::of(&error))?.to_owned(),
    }))
}

fn withdrawn() -> ToolError {
    ToolError::new(
        "There is no answer: a message to you interrupted the wait, and your question was \
         withdrawn. Ask again if you still need to know.",
    )
}
