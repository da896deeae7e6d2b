//! `spawn_background` of everruns, which runs a command in the background.
//!
//! In everruns the call has files that can be read while it runs. Here those keys are
//! null, and `command_output` reads the output.

use offshoot_agent::{OfferedTools, Output, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{NAMES, id};
use crate::adapt::{AdaptedCall, RUN_COMMAND, adapt};
use crate::alias::ToolAlias;
use crate::task_ids::hex;

/// Names of the tool that runs commands.
const COMMANDS: [&str; 2] = [RUN_COMMAND, "bash"];

pub(super) fn alias(offered: &OfferedTools) -> Option<ToolAlias> {
    let told = "Has run_command run a command in the background. It returns at once and WITHOUT any \
                result: how the command ends comes to you later by itself.";
    adapt(&offered.provided, RUN_COMMAND, ("spawn_background", told), background)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Background {
    /// The tool to call: "run_command".
    tool: String,
    /// Its arguments, such as {"command": "make"}.
    args: Map<String, Value>,
    /// What it is for.
    title: Option<String>,
    /// It cannot be: nothing is started later here.
    schedule: Option<Map<String, Value>>,
    /// Its end comes to you whatever you say.
    signal_on_completion: Option<bool>,
}

fn background(asked: Background) -> Result<AdaptedCall, ToolError> {
    let Background { tool, mut args, title, schedule, signal_on_completion } = asked;
    if !COMMANDS.contains(&tool.trim()) {
        return Err(ToolError::new(format!(
            "Nothing was started: only {RUN_COMMAND} runs in the background, not {tool:?}. To have \
             something else done meanwhile use spawn_agent."
        )));
    }
    if schedule.is_some() {
        return Err(ToolError::new(
            "Nothing was started: nothing can be scheduled here. Leave out schedule to start it \
             now.",
        ));
    }
    args.insert("background".to_owned(), json!(true));
    Ok(AdaptedCall::new(Value::Object(args)).format(move |report| {
        let mut note = report.summary(NAMES);
        if signal_on_completion == Some(false) {
            note.push_str(" signal_on_completion=false has no effect here.");
        }
        Output::json(&json!({
            "run_id": format!("bg_{}", hex(report.task.id())),
            "resource_id": null,
            "task_id": id(&report.task),
            "title": title,
            "tool": tool,
            "status": "running",
            "signal_on_completion": true,
            "artifact_dir": null,
            "log_path": null,
            "result_path": null,
            "note": note,
        }))
    }))
}
