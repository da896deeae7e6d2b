//! `list_tasks`: lists the tasks that the agent spawned.

use offshoot_store::PageCursor;
use schemars::JsonSchema;
use serde::Deserialize;

use super::task_line;
use crate::built_in_tools::LIST_TASKS;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// true: also those that have ended.
    #[serde(default)]
    all: bool,
    /// Where the last list ended, as it said.
    cursor: Option<String>,
}

/// The number of tasks on one page.
const PAGE: usize = 30;

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &LIST_TASKS,
        "Lists the tasks that you have spawned and how they stand. Results come to you by \
         themselves: there is no need to look for them.",
        list,
    )
}

async fn list(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    cx.turn.wait().await;
    let mut tasks = cx.cx.tasks().limit(PAGE);
    if !asked.all {
        tasks = tasks.live();
    }
    if let Some(cursor) = &asked.cursor {
        let cursor = cursor.trim().parse();
        let cursor = cursor.map_err(|_| ToolError::new("That is no cursor of a list."))?;
        tasks = tasks.after(PageCursor(cursor));
    }
    let page = tasks.await?;
    let now = cx.cx.now();
    let own = cx.cx.id();
    let lines =
        page.items.iter().filter(|task| task.id() != own).map(|task| task_line::line(task, now));
    let mut lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        lines.push("None.".to_owned());
    }
    if let Some(PageCursor(next)) = page.next {
        lines.push(format!("There are more: call it again with cursor=\"{next}\"."));
    }
    Ok(Output::text(lines.join("\n")))
}
