//! `command_output`: reads the output of a command.

use offshoot_agent::built_in_tools::COMMAND_OUTPUT;
use offshoot_agent::{Function, Output, Tool, ToolContext, ToolError};
use offshoot_backends::Commands;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{bounds, report};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handle or id of the command.
    task: String,
    /// From which byte on. Without it: the end.
    from: Option<u64>,
}

pub(super) fn tool(commands: Commands) -> impl Tool {
    Function::built_in(
        &COMMAND_OUTPUT,
        "Reads what a command that you have run has written, also while it runs: the end of it, \
         or a part from some byte on.",
        move |cx, asked| read(commands.clone(), cx, asked),
    )
}

async fn read(commands: Commands, cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let task = cx.task().task(&asked.task).await?;
    if &*task.spec().kind != Commands::KIND {
        return Err(ToolError::new(format!(
            "{} is no command. To look at it use inspect_task.",
            task.handle()
        )));
    }
    let record = task.record().await?;
    let log = commands.log(record.id());
    let total = report::written(&log, &record).await.map_err(|error| ToolError::of(&error))?;
    let part = bounds::part(&log, asked.from, total).await;
    Ok(Output::text(part.map_err(|error| ToolError::of(&error))?))
}
