//! The agents' own tools. Their effects can be counted: each call writes a line into a file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use offshoot_agent::{Agents, Function, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agents::model_script::LISTEN;

/// The file beside the data with the effects of the tools.
pub const EFFECTS: &str = "effects";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TranscriptLine {
    /// The text to write.
    line: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Agents with the tools, which write into `folder`.
pub fn with_tools(agents: Agents, folder: &Path) -> Agents {
    let file: Arc<Path> = folder.join(EFFECTS).into();
    let writing = |tool: &'static str| {
        let file = file.clone();
        move |_: ToolContext, line: TranscriptLine| {
            let file = file.clone();
            async move {
                let written = write(&file, &format!("{tool} {}\n", line.line));
                written.map(|()| "Written.").map_err(|error| ToolError::of(&error))
            }
        }
    };
    agents
        .tool(Function::new("note", "Writes a line, each time.", writing("note")))
        .tool(
            Function::new("mark", "Sees to it that a line is there.", writing("mark")).idempotent(),
        )
        .tool(Function::new(LISTEN, "Waits until a message arrives.", listen).read_only())
}

/// One write, so that a line is whole or absent.
fn write(file: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}

async fn listen(cx: ToolContext, _: Nothing) -> Result<&'static str, ToolError> {
    cx.task().receive(1).await?;
    Ok("A message has arrived.")
}

/// The effects of the tools in `folder`, line by line.
pub fn effects(folder: &Path) -> io::Result<Vec<String>> {
    match std::fs::read_to_string(folder.join(EFFECTS)) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
