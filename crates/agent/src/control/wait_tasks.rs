//! `wait_tasks`: does nothing until something comes home.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_runtime::TaskRef;
use schemars::JsonSchema;
use serde::Deserialize;

use super::told;
use crate::mail::wanted;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handles or ids of the tasks to wait for.
    tasks: Vec<String>,
    /// true: return as soon as one of them has ended. false (the default): wait
    /// for all of them.
    #[serde(default)]
    any: bool,
    /// How many seconds to wait at the most; 60 unless you say.
    timeout_seconds: Option<u64>,
}

/// How long it waits unless told.
const USUAL: u64 = 60;

/// How long it waits at the most.
const LONGEST: u64 = 3_600;

/// How many tasks can be waited for at once.
const MOST: usize = 64;

pub(super) fn tool() -> impl Tool {
    Function::new(
        "wait_tasks",
        "Waits until tasks you sent off have ended, until a message for you comes, or until the \
         time is over. Use it only if you can do nothing without the results: they come to you \
         by themselves anyway.",
        wait,
    )
    .read_only()
    .watchful()
}

async fn wait(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    Box::pin(cx.turn.comes()).await;
    // In a box, so that the wait that follows does not keep room for it.
    let tasks = Box::pin(find(&cx, asked.tasks)).await?;
    let span = Duration::from_secs(asked.timeout_seconds.unwrap_or(USUAL).min(LONGEST));
    let mut wait = cx.cx.wait(&tasks).timeout(span);
    if asked.any {
        wait = wait.any();
    }
    let (wait, message) = (pin!(wait.into_future()), pin!(wanted(&cx.cx)));
    let (waited, spoken_to) = match select(wait, message).await {
        Either::Left((waited, _)) => (waited?, false),
        // How they stand now.
        Either::Right(_) => {
            let now = cx.cx.wait(&tasks).timeout(Duration::ZERO).into_future();
            (Box::pin(now).await?, true)
        }
    };
    let (now, allowance) = (cx.cx.now(), cx.seat.limits.allowance);
    let mut lines = Vec::new();
    if spoken_to {
        lines.push(
            "A message for you has come. It follows; if it is meant for the end of your turn, end \
             your turn to read it."
                .to_owned(),
        );
    }
    let open = waited.iter().filter(|one| !one.is_ended());
    lines.extend(
        open.map(|one| format!("Not ended, no result yet: {}", told::line(&one.task, now))),
    );
    let ended = waited.iter().filter(|one| one.is_ended());
    let output = Output::text(lines.join("\n"));
    Ok(ended.fold(output, |output, one| output.telling(&one.task, allowance)))
}

async fn find(cx: &ToolContext, handles: Vec<String>) -> Result<Vec<TaskRef>, ToolError> {
    if handles.is_empty() {
        return Err(ToolError::new("Name the tasks to wait for."));
    }
    if handles.len() > MOST {
        return Err(ToolError::new(format!("Name at most {MOST} tasks at once.")));
    }
    let mut tasks = Vec::new();
    for handle in &handles {
        tasks.push(cx.cx.task(handle).await?);
    }
    Ok(tasks)
}
