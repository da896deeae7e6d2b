//! The tools of Codex that run commands.
//!
//! A session id is the number of the command's handle. The lines of a result follow
//! transcripts of Codex, because no schema describes them. Lines without a counterpart
//! here (the id of a chunk, a number of tokens) are left out, and a failure has a line
//! that Codex does not have.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agent::{OfferedTools, Output, Tool, ToolContext, ToolError};
use offshoot_core::{Task, digest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::adapt::{AdaptedCall, COMMAND_OUTPUT, RUN_COMMAND, adapt, find_tool};
use crate::alias::{ToolAlias, ToolNames, waiting};
use crate::operations::task_wait;
use crate::task_ids::{IdFormat, missing};
use crate::task_status::{self, mark_reported};

/// The format of a session id.
const SESSION: IdFormat = IdFormat { prefix: "", kind: "command" };

/// `exec_command`, if there is a tool that runs commands.
pub(super) fn exec(offered: &OfferedTools, words: ToolNames) -> Option<ToolAlias> {
    let told = "Runs a command and returns what it wrote. If it has not ended in time it goes on as \
                a session, and its end comes to you by itself.";
    let exec = move |asked| command(asked, words);
    adapt(&offered.provided, RUN_COMMAND, ("exec_command", told), exec)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exec {
    /// The command.
    cmd: String,
    /// Where it starts, as seen from the folder you work in.
    workdir: Option<String>,
    /// How many milliseconds to wait for it, from 250 to 30000; 10000 unless you
    /// say. Then it goes on in the background.
    yield_time_ms: Option<u64>,
    /// It has no effect: what is shown is bounded.
    #[expect(dead_code, reason = "what is shown is bounded")]
    max_output_tokens: Option<u64>,
    /// It has no effect: commands have no terminal.
    tty: Option<bool>,
    /// It has no effect here.
    login: Option<bool>,
    /// It has no effect: the shell is a POSIX one.
    shell: Option<String>,
    /// It cannot be "require_escalated": a command is confined or asked for as
    /// everywhere.
    sandbox_permissions: Option<String>,
    /// It has no effect here.
    #[expect(dead_code, reason = "the approval shows the command")]
    justification: Option<String>,
    /// It has no effect here.
    #[expect(dead_code, reason = "the approval says what it is for")]
    prefix_rule: Option<Vec<String>>,
}

fn command(asked: Exec, words: ToolNames) -> Result<AdaptedCall, ToolError> {
    if asked.sandbox_permissions.is_some_and(|wanted| wanted != "use_default") {
        return Err(ToolError::new(
            "Nothing was run: sandbox_permissions cannot be set by a call. Leave it out.",
        ));
    }
    let millis = asked.yield_time_ms.unwrap_or(10_000).clamp(250, 30_000);
    let mut meant = json!({"command": asked.cmd, "timeout_seconds": millis.div_ceil(1_000)});
    if let Some(folder) = asked.workdir {
        meant["folder"] = json!(folder);
    }
    let is_idle = asked.tty == Some(true) || asked.login.is_some() || asked.shell.is_some();
    Ok(AdaptedCall::new(meant).format(move |report| {
        let mut said = match report.exit_code() {
            Some(0) => Vec::new(),
            _ => vec![report.summary(words)],
        };
        if is_idle {
            said.push("tty, login and shell have no effect here.".to_owned());
        }
        let ended = report.is_ended.then_some(&report.task);
        let state = state(ended, report.task.handle());
        Ok(Output::text(lines((report.elapsed, state), &said.join("\n"), &report.output)))
    }))
}

/// The state of a command, with its record if it has ended.
fn state(ended: Option<&Task>, handle: &str) -> String {
    match ended.map(task_status::exit_code) {
        Some(Some(code)) => format!("Process exited with code {code}"),
        Some(None) => "Process ended without an exit code".to_owned(),
        None => format!("Process running with session ID {}", SESSION.of_handle(handle)),
    }
}

/// A result in the lines of Codex.
fn lines((took, state): (Duration, String), said: &str, wrote: &str) -> String {
    let said = if said.is_empty() { String::new() } else { format!("{said}\n") };
    format!("Wall time: {:.4} seconds\n{state}\n{said}Output:\n{wrote}", took.as_secs_f64())
}

/// `write_stdin`, if there is a tool that reads what commands have written.
pub(super) fn write(offered: &OfferedTools) -> Option<ToolAlias> {
    let written = find_tool(&offered.provided, COMMAND_OUTPUT)?;
    let told = "Shows what a command that goes on as a session has written last, after waiting a \
                while for its end. Commands get no input, so chars is empty.";
    let poll = move |cx, asked| poll(cx, asked, written.clone());
    Some(waiting(COMMAND_OUTPUT, ("write_stdin", told), poll))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// The id of the session.
    session_id: u64,
    /// It must be empty: commands get no input.
    #[serde(default)]
    chars: String,
    /// How many milliseconds to wait for its end, from 5000 to 30000; 5000 unless
    /// you say.
    yield_time_ms: Option<u64>,
    /// It has no effect: what is shown is bounded.
    #[expect(dead_code, reason = "what is shown is bounded")]
    max_output_tokens: Option<u64>,
}

/// The number of characters that are shown of a failure.
const DIGEST: usize = 2_000;

/// The text for a session that has not ended.
const GOES_ON: &str = "It HAS NOT ENDED. Its end will come to you by itself: do not poll.";

fn poll(
    cx: ToolContext,
    asked: Write,
    written: Arc<dyn Tool>,
) -> impl Future<Output = Result<Output, ToolError>> {
    let (agent, since) = (cx.clone(), cx.task().now());
    let begun = Box::pin(async move {
        if !asked.chars.is_empty() {
            return Err(ToolError::new(
                "Nothing was written: commands get no input here. Give a command what it needs by \
                 options or files. To stop this one use cancel_task.",
            ));
        }
        let handle = format!("{}-{}", SESSION.kind, asked.session_id);
        let task = cx.task().task(&handle).await?;
        // The bounds of Codex are not known; in transcripts a poll takes some seconds.
        let millis = asked.yield_time_ms.unwrap_or(5_000).clamp(5_000, 30_000);
        Ok(task_wait(&cx, vec![task], Duration::from_millis(millis)))
    });
    async move {
        let waited_tasks = begun.await?.wait().await?;
        Box::pin(async move {
            let Some(waited) = waited_tasks.tasks.first() else {
                return Err(missing("session_id"));
            };
            let ended = waited.is_ended().then_some(&waited.task);
            let shown = json!({"task": waited.task.handle()}).to_string();
            // Reads after the end, so that the output is complete.
            let wrote = written.call(agent.clone(), shown).await?.text;
            let said = match ended {
                Some(task) if task_status::exit_code(task) != Some(0) => digest(task, DIGEST),
                Some(_) => String::new(),
                None => GOES_ON.to_owned(),
            };
            let state = state(ended, waited.task.handle());
            let took = agent.task().now().since(since);
            Ok(mark_reported(Output::text(lines((took, state), &said, &wrote)), &waited_tasks))
        })
        .await
    }
}
