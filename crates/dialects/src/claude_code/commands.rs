//! The tools of Claude Code that run commands.

use std::time::Duration;

use offshoot_agent::{OfferedTools, Output, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{NAMES, id};
use crate::adapt::{AdaptedCall, CommandReport, RUN_COMMAND, adapt};
use crate::alias::ToolAlias;
use crate::task_status::TaskStatus;

pub(super) fn aliases(offered: &OfferedTools) -> impl Iterator<Item = ToolAlias> + use<> {
    let bash = "Runs a command. With run_in_background it runs while you go on, and its end comes \
                to you.";
    let watch = "Runs a command in the background until it ends or its time is over. Its end comes \
                 to you; single lines do not, but can be read.";
    let bash = adapt(&offered.provided, RUN_COMMAND, ("Bash", bash), command);
    let watch = adapt(&offered.provided, RUN_COMMAND, ("Monitor", watch), monitor);
    bash.into_iter().chain(watch)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bash {
    /// The command.
    command: String,
    /// How many milliseconds to wait for it: then it goes on in the background. With
    /// run_in_background: after how many it is ended.
    timeout: Option<u64>,
    /// What it is for.
    #[expect(dead_code, reason = "the command says it")]
    description: Option<String>,
    /// true: it runs while you go on.
    #[serde(default)]
    run_in_background: bool,
    /// It cannot be: a command is confined or asked for as everywhere.
    #[serde(default, rename = "dangerouslyDisableSandbox")]
    unconfined: bool,
}

/// The default and the longest wait for a command in milliseconds.
const USUAL: u64 = 120_000;
const MOST: u64 = 600_000;

/// The longest time limit of a background command in milliseconds.
const LONGEST: u64 = 7_200_000;

fn command(asked: Bash) -> Result<AdaptedCall, ToolError> {
    if asked.unconfined {
        return Err(ToolError::new(
            "Nothing was run: dangerouslyDisableSandbox cannot be set by a call.",
        ));
    }
    if asked.run_in_background {
        let span = asked.timeout.map(|millis| Duration::from_millis(millis.clamp(1, LONGEST)));
        let meant = AdaptedCall::new(json!({"command": asked.command, "background": true}));
        return Ok(meant.time_limit(span).format(|report| shown(report, None)));
    }
    let seconds = asked.timeout.unwrap_or(USUAL).min(MOST).div_ceil(1_000);
    let meant = json!({"command": asked.command, "timeout_seconds": seconds});
    Ok(AdaptedCall::new(meant).format(move |report| shown(report, Some(seconds * 1_000))))
}

/// A command in the shape of `Bash`. Its output is one stream, so `stderr` is null. The
/// note, which Claude Code does not have, reports a failure.
fn shown(report: &CommandReport, waited: Option<u64>) -> Result<Output, ToolError> {
    let mut told = json!({
        "stdout": report.output,
        "stderr": null,
        "interrupted": report.is_ended && TaskStatus::of(&report.task) == TaskStatus::Cancelled,
    });
    if !report.is_ended {
        told["backgroundTaskId"] = json!(id(&report.task));
        // A message may have ended the wait before.
        if let Some(millis) =
            waited.filter(|millis| report.elapsed >= Duration::from_millis(*millis))
        {
            told["timedOutAfterMs"] = json!(millis);
        }
    }
    if report.exit_code() != Some(0) {
        told["note"] = json!(report.summary(NAMES));
    }
    Output::json(&told)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Monitor {
    /// What it is for.
    #[expect(dead_code, reason = "the command says it")]
    description: String,
    /// After how many milliseconds it is ended, from 1000 to 1800000; 300000 unless
    /// you say.
    timeout_ms: Option<u64>,
    /// The command.
    command: Option<String>,
    /// A socket; none can be watched here.
    ws: Option<Map<String, Value>>,
}

/// In Claude Code each line is an event. Here a notice reports the end, and the output
/// can be read meanwhile.
fn monitor(asked: Monitor) -> Result<AdaptedCall, ToolError> {
    let (None, Some(command)) = (asked.ws, asked.command) else {
        return Err(ToolError::new(
            "Nothing was started: only a command can be watched here. Say command, and leave out \
             ws.",
        ));
    };
    let millis = asked.timeout_ms.unwrap_or(300_000).clamp(1_000, 1_800_000);
    let meant = AdaptedCall::new(json!({"command": command, "background": true}));
    Ok(meant.time_limit(Some(Duration::from_millis(millis))).format(move |report| {
        let (id, note) = (id(&report.task), report.summary(NAMES));
        Output::json(&json!({"taskId": id, "timeoutMs": millis, "note": note}))
    }))
}
