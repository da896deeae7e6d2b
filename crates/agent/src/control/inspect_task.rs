//! `inspect_task`: shows the state and the conversation of one task.

use std::time::Duration;

use offshoot_core::{BlockKind, Outcome};
use offshoot_runtime::{PeekBlock, TaskRef, WaitResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::task_line;
use crate::built_in_tools::INSPECT_TASK;
use crate::conversation::entry;
use crate::conversation::stored_output;
use crate::notice;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its handle or id.
    task: String,
    /// How many of the last blocks of its conversation to show.
    last: Option<usize>,
    /// Only blocks from this position on.
    since: Option<u64>,
    /// To read on in its result: from which character on.
    result_from: Option<usize>,
}

/// The most blocks that one call shows.
const MOST: usize = 50;

/// The most Unicode scalars of each block.
const SHOWN: usize = 400;

/// The divisor of the output limit that gives the room for a result.
const PART: usize = 4;

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &INSPECT_TASK,
        "Shows how one of your tasks stands, the end of its conversation and, if it has ended, \
         its result. A long result is read part by part with result_from.",
        inspect,
    )
}

async fn inspect(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    cx.turn.wait().await;
    let task = cx.cx.task(&asked.task).await?;
    let record = task.record().await?;
    if let Some(from) = asked.result_from {
        return read_on(&cx, &task, from).await;
    }
    let mut lines = vec![task_line::line(&record, cx.cx.now())];
    let ended = record.ended().is_some();
    let ended = ended.then(|| {
        let digest = cx.cx.digest(&record, cx.shared.limits.tool_result / PART);
        notice::result(&record, &digest)
    });
    if ended.is_none() {
        lines.push(format!("{}", task.why().await?));
    }
    let mut peek = task.peek().last(asked.last.unwrap_or(10).min(MOST)).limit(SHOWN);
    if let Some(since) = asked.since {
        peek = peek.since(since);
    }
    let peek = peek.await?;
    lines.push(format!("Its conversation has {} blocks; the last are:", peek.total));
    for block in peek.blocks {
        lines.push(block_line(&block));
    }
    let output = Output::text(lines.join("\n"));
    Ok(match ended {
        Some(result) => output.noting(result),
        None => output,
    })
}

/// One line for a block: its position, its kind and its text.
fn block_line(block: &PeekBlock) -> String {
    let name = block.name.as_deref().unwrap_or("a tool");
    let text = block.text.as_deref().unwrap_or_default().replace('\n', " ");
    let line = |what: &str| match text.trim() {
        "" => format!("{} {what}", block.position),
        text => format!("{} {what}: {text}", block.position),
    };
    line(match (block.kind, name) {
        (BlockKind::User, _) => "it was told",
        (BlockKind::Assistant, _) => "it said",
        (BlockKind::Thought, _) => "it thought",
        (BlockKind::ToolUse, _) => return line(&format!("it called {name}")),
        (BlockKind::ToolResult, _) => return line(&format!("{name} returned")),
        (BlockKind::Notice, _) => "it got the notice",
        (BlockKind::Other, entry::ANSWERED) => "its answer ended",
        (BlockKind::Other, entry::SUMMARY) => "what was before is summed up",
        (BlockKind::Other, entry::FORK) => "it knows another conversation up to here",
        (BlockKind::Other, entry::CONTINUED) => "another task goes on from here",
        (BlockKind::Other, entry::PARTIAL) => "its answer was cut after",
        (BlockKind::Other, entry::OUTPUT) => "all of what a tool returned",
        (BlockKind::Other, entry::RUNNING) => "when its turn ended there was still running",
        (BlockKind::Other, name) => name,
    })
}

/// Reads a part of the result of a task that has ended.
async fn read_on(cx: &ToolContext, task: &TaskRef, from: usize) -> Result<Output, ToolError> {
    let waited = task.wait().timeout(Duration::ZERO).await?;
    let Some(text) = result(&waited).await? else {
        return Err(ToolError::new(format!("{} has no result yet.", task.handle())));
    };
    let part = stored_output::part(&text, from, cx.shared.limits.tool_result / PART);
    let part = notice::envelope("result", &[("task", task.handle())], &part);
    Ok(Output::default().noting(part))
}

/// Reads the whole result of a task that has ended.
pub async fn result(waited: &WaitResult) -> Result<Option<String>, ToolError> {
    Ok(match waited.outcome() {
        None => None,
        Some(Outcome::Completed { .. }) => Some(match waited.load::<Value>().await? {
            Value::String(text) => text,
            value => value.to_string(),
        }),
        Some(_) => Some(offshoot_core::digest(&waited.task, usize::MAX)),
    })
}
