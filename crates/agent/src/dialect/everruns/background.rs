//! `spawn_background` of everruns, which sends a call of another tool off: here,
//! that of a command.
//!
//! Theirs writes files that can be read meanwhile. Ours has none, so that these keys
//! are nothing; what a command writes is read with `command_output`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{WORDS, id};
use crate::dialect::instead::{COMMAND, Meant, instead};
use crate::dialect::naming::hex;
use crate::dialect::{Said, Scene};
use crate::tool::{Output, ToolError};

/// What theirs and ours call the tool that runs commands.
const COMMANDS: [&str; 2] = [COMMAND, "bash"];

pub(super) fn phrase(scene: &Scene) -> Option<Said> {
    let told = "Has run_command run a command in the background. It returns at once and WITHOUT any \
                result: how the command ends comes to you later by itself.";
    instead(&scene.brought, COMMAND, ("spawn_background", told), background)
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

fn background(asked: Background) -> Result<Meant, ToolError> {
    let Background { tool, mut args, title, schedule, signal_on_completion } = asked;
    if !COMMANDS.contains(&tool.trim()) {
        return Err(ToolError::new(format!(
            "Nothing was started: only {COMMAND} runs in the background, not {tool:?}. To have \
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
    Ok(Meant::with(Value::Object(args)).told(move |ran| {
        let mut note = ran.said(WORDS);
        if signal_on_completion == Some(false) {
            note.push_str(" signal_on_completion=false has no effect here.");
        }
        Output::json(&json!({
            "run_id": format!("bg_{}", hex(ran.task.id())),
            "resource_id": null,
            "task_id": id(&ran.task),
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
