//! The tools of Codex that run commands.
//!
//! A session is the number that is counted for a command. The lines of a result are
//! as theirs, which are seen in transcripts and stand in no schema; what there is
//! nothing for (the id of a chunk, a count of tokens) has no line. What goes wrong
//! has a line of ours.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Task, digest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::dialect::deeds::waiting;
use crate::dialect::instead::{COMMAND, Meant, WRITTEN, instead, named};
use crate::dialect::naming::{Naming, missing};
use crate::dialect::phrase::{Words, waits};
use crate::dialect::standing::{self, telling};
use crate::dialect::{Said, Scene};
use crate::tool::{Output, Tool, ToolContext, ToolError};

/// What a command is called.
const SESSION: Naming = Naming { before: "", stem: "command" };

/// `exec_command`, if there is a tool that runs commands.
pub(super) fn exec(scene: &Scene, words: Words) -> Option<Said> {
    let told = "Runs a command and returns what it wrote. If it has not ended in time it goes on as \
                a session, and its end comes to you by itself.";
    let exec = move |asked| command(asked, words);
    instead(&scene.brought, COMMAND, ("exec_command", told), exec)
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
    #[expect(dead_code, reason = "whoever is asked sees the command")]
    justification: Option<String>,
    /// It has no effect here.
    #[expect(dead_code, reason = "the approval says what it is for")]
    prefix_rule: Option<Vec<String>>,
}

fn command(asked: Exec, words: Words) -> Result<Meant, ToolError> {
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
    Ok(Meant::with(meant).told(move |ran| {
        let mut said = match ran.exit() {
            Some(0) => Vec::new(),
            _ => vec![ran.said(words)],
        };
        if is_idle {
            said.push("tty, login and shell have no effect here.".to_owned());
        }
        let ended = ran.is_ended.then_some(&ran.task);
        let state = state(ended, ran.task.handle());
        Ok(Output::text(lines((ran.took, state), &said.join("\n"), &ran.wrote)))
    }))
}

/// How a command stands: this one has ended, if one has.
fn state(ended: Option<&Task>, handle: &str) -> String {
    match ended.map(standing::exit) {
        Some(Some(code)) => format!("Process exited with code {code}"),
        Some(None) => "Process ended without an exit code".to_owned(),
        None => format!("Process running with session ID {}", SESSION.of(handle)),
    }
}

/// A result as they write it.
fn lines((took, state): (Duration, String), said: &str, wrote: &str) -> String {
    let said = if said.is_empty() { String::new() } else { format!("{said}\n") };
    format!("Wall time: {:.4} seconds\n{state}\n{said}Output:\n{wrote}", took.as_secs_f64())
}

/// `write_stdin`, if there is a tool that reads what commands have written.
pub(super) fn write(scene: &Scene) -> Option<Said> {
    let written = named(&scene.brought, WRITTEN)?;
    let told = "Shows what a command that goes on as a session has written last, after waiting a \
                while for its end. Commands get no input, so chars is empty.";
    let poll = move |cx, asked| poll(cx, asked, written.clone());
    Some(waits(WRITTEN, ("write_stdin", told), poll))
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

/// How much of what a failure says is told.
const DIGEST: usize = 2_000;

/// What is said of a session that goes on.
const GOES_ON: &str = "It HAS NOT ENDED. Its end will come to you by itself: do not poll.";

fn poll(
    cx: ToolContext,
    asked: Write,
    written: Arc<dyn Tool>,
) -> impl Future<Output = Result<Output, ToolError>> {
    let (agent, since) = (cx.clone(), cx.cx.now());
    let begun = Box::pin(async move {
        if !asked.chars.is_empty() {
            return Err(ToolError::new(
                "Nothing was written: commands get no input here. Give a command what it needs by \
                 options or files. To stop this one use cancel_task.",
            ));
        }
        let handle = format!("{}-{}", SESSION.stem, asked.session_id);
        let task = cx.cx.task(&handle).await?;
        // Theirs are not known: what is seen is that a poll takes some seconds.
        let millis = asked.yield_time_ms.unwrap_or(5_000).clamp(5_000, 30_000);
        Ok(waiting(&cx, vec![task], Duration::from_millis(millis)))
    });
    async move {
        let stand = begun.await?.over().await?;
        Box::pin(async move {
            let Some(waited) = stand.tasks.first() else { return Err(missing("session_id")) };
            let ended = waited.is_ended().then_some(&waited.task);
            let shown = json!({"task": waited.task.handle()}).to_string();
            // Read after it has ended, so that nothing of it is left out.
            let wrote = written.call(agent.clone(), shown).await?.text;
            let said = match ended {
                Some(task) if standing::exit(task) != Some(0) => digest(task, DIGEST),
                Some(_) => String::new(),
                None => GOES_ON.to_owned(),
            };
            let state = state(ended, waited.task.handle());
            let took = agent.cx.now().since(since);
            Ok(telling(Output::text(lines((took, state), &said, &wrote)), &stand))
        })
        .await
    }
}
