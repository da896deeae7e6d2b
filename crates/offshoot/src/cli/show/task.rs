//! Formats a task: on one line, as a digest, and in full.

use jiff::Timestamp;
use offshoot_client::wire::{ApprovalSummary, Cancel, Outcome, Restart, State, Task};
use serde_json::Value;

use super::colour::{Colour, Part};
use super::fields::Fields;
use super::screen::Screen;
use super::{size, text, time};

mod agent;

pub(crate) use agent::{delay, delay_text};

/// The maximum length of a value in a digest, in characters.
const DIGEST: usize = 2_048;

/// The status or the end of a task on one line.
pub(crate) fn what(task: &Task) -> String {
    let said = match (&task.outcome, &task.cancel) {
        (Some(outcome), _) if task.agent.is_some() => text::first_line(&ending(outcome)),
        (Some(outcome), _) => ending(outcome),
        (None, Some(cancel)) if task.unresponsive => {
            format!("does not stop: {}", asked(cancel, ""))
        }
        (None, Some(cancel)) => format!("stopping: {}", asked(cancel, "")),
        (None, None) if task.settling => "ended; the result is being stored".to_owned(),
        (None, None) if task.lacks.is_some() => task.lacks.clone().unwrap_or_default(),
        (None, None) if task.question.is_some() => {
            format!("asks: {}", task.question.as_ref().map_or("", |asked| &asked.text))
        }
        (None, None) if task.approval.is_some() => {
            task.approval.as_ref().map(approval).unwrap_or_default()
        }
        (None, None) if delay(task).is_some() => {
            delay(task).map(|delay| delay_text(&delay, Timestamp::now())).unwrap_or_default()
        }
        (None, None) => match (&task.waiting_on, reported(task, "last_line")) {
            (Some(on), _) => format!("waits on {on}"),
            (None, Some(last)) => value(last),
            (None, None) => {
                let begun = task.agent.is_none() || task.state != State::Queued;
                let before = (!begun).then(|| "not started yet".to_owned());
                doing(task).or_else(|| progress(task)).or(before).unwrap_or_default()
            }
        },
    };
    text::line(&said)
}

/// The approval that a task waits for, and the command that approves it.
fn approval(asked: &ApprovalSummary) -> String {
    format!("{}: offshoot approve {}", asked.wants(), asked.id)
}

/// A field of a command's own progress report.
fn reported<'a>(task: &'a Task, name: &str) -> Option<&'a Value> {
    task.command.as_ref()?;
    task.progress.as_ref()?.value.get(name)
}

/// The current activity of a task, if it reports one.
fn doing(task: &Task) -> Option<String> {
    let activity = task.activity.as_ref()?;
    Some(match (activity.doing.as_str(), &activity.tool) {
        ("model", _) => format!("step {}: asks its model", activity.step),
        (_, Some(tool)) => format!("step {}: {tool}", activity.step),
        _ => return None,
    })
}

/// The progress of a task that is not a command.
fn progress(task: &Task) -> Option<String> {
    let progress = task.progress.as_ref().filter(|_| task.command.is_none())?;
    Some(match task.agent {
        Some(_) => agent::report(&progress.value),
        None => value(&progress.value),
    })
}

/// The work of a task on one line: its command line, its prompt or its kind.
pub(crate) fn executes(task: &Task) -> String {
    match &task.command {
        Some(command) => text::command(&command.argv),
        None => match &task.agent {
            Some(agent) => text::line(&text::first_line(&agent.task)),
            None => text::line(&task.kind),
        },
    }
}

/// The end of a task on one line.
pub(crate) fn ending(outcome: &Outcome) -> String {
    match outcome.is {
        State::Completed => match &outcome.value {
            // The result of a command is its exit code.
            _ if outcome.exit.is_some() => exit(outcome),
            Some(returned) => value(returned),
            None => match outcome.value_bytes {
                Some(bytes) => format!("returned {}", size::bytes(bytes)),
                None => exit(outcome),
            },
        },
        State::Cancelled => {
            let how = if outcome.forced { ", by force" } else { "" };
            let asked = outcome.cancelled.as_ref().map(|cancel| asked(cancel, how));
            asked.unwrap_or_default()
        }
        State::Lost => outcome.message.clone().unwrap_or_default(),
        _ => failing(outcome),
    }
}

fn failing(outcome: &Outcome) -> String {
    let message = outcome.message.as_deref().unwrap_or_default();
    match (outcome.failure.as_deref(), outcome.exit, outcome.signal) {
        (Some("exit"), Some(_), _) | (Some("signal"), _, Some(_)) => exit(outcome),
        (Some(kind), ..) if message.is_empty() => kind.to_owned(),
        // The message names the limit.
        (Some("error" | "start" | "budget"), ..) | (None, ..) => message.to_owned(),
        (Some(kind), ..) => format!("{kind}: {message}"),
    }
}

fn exit(outcome: &Outcome) -> String {
    match (outcome.exit, outcome.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => match signal_name(signal) {
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        },
        (None, None) => String::new(),
    }
}

/// The name of a signal that has one number everywhere.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "HUP",
        2 => "INT",
        3 => "QUIT",
        4 => "ILL",
        6 => "ABRT",
        8 => "FPE",
        9 => "KILL",
        11 => "SEGV",
        13 => "PIPE",
        14 => "ALRM",
        15 => "TERM",
        _ => return None,
    })
}

/// The reason of a cancel, its caller and its manner.
fn asked(cancel: &Cancel, how: &str) -> String {
    match cancel.reason.trim() {
        "" => format!("by {}{how}", cancel.by),
        reason => format!("{reason} (by {}{how})", cancel.by),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(said) => said.clone(),
        other => other.to_string(),
    }
}

/// The digest of a finished task: one line, and the result below it.
///
/// `whole` is the command that prints a result that is cut.
pub(crate) fn digest(task: &Task, whole: &str, colour: Colour) -> String {
    let handle = colour.paint(Part::Name, text::line(&task.handle));
    let state = colour.paint(Part::State(task.state), task.state.word());
    let Some(outcome) = &task.outcome else {
        let age = time::age(task.age_ms);
        return match what(task).as_str() {
            "" => format!("{handle} {state} for {age}\n"),
            what => format!("{handle} {state} for {age}: {what}\n"),
        };
    };
    let took = time::long(outcome.duration_ms.unwrap_or(task.age_ms));
    let returned = match (&outcome.value, reported(task, "last_line")) {
        (_, Some(last)) => value(last),
        (Some(returned), None) if task.command.is_none() => value(returned),
        _ => String::new(),
    };
    let said = match outcome.is {
        State::Completed => String::new(),
        _ => text::line(&ending(outcome)),
    };
    let mut shown = match said.as_str() {
        "" => format!("{handle} {state} after {took}\n"),
        said => format!("{handle} {state} after {took}: {said}\n"),
    };
    for cause in &outcome.causes {
        shown.push_str(&format!("  caused by: {}\n", text::line(cause)));
    }
    let returned = match outcome.value_bytes {
        Some(_) => format!("{}: {whole}", ending(outcome)),
        None => bounded(&returned, &format!("; all of it: {whole}")),
    };
    for line in returned.lines() {
        shown.push_str(&format!("  {line}\n"));
    }
    shown
}

/// Cuts a text to the digest's length, with the number of missing characters.
fn bounded(returned: &str, whole: &str) -> String {
    let length = returned.chars().count();
    let kept: String = returned.chars().take(DIGEST).collect();
    match length.saturating_sub(DIGEST) {
        0 => text::lines(&kept),
        more => format!("{} …(+{more} more chars{whole})", text::lines(&kept)),
    }
}

/// Formats a full result: unchanged for a pipe, made safe for a terminal.
pub(crate) fn returned(answer: &Value, screen: Screen) -> String {
    let said = match answer {
        Value::String(said) => said.clone(),
        other => other.to_string(),
    };
    let said = if screen.width.is_some() { text::lines(&said) } else { said };
    if said.ends_with('\n') { said } else { said + "\n" }
}

/// Formats the full record of a task.
pub(crate) fn in_full(task: &Task, now: Timestamp, colour: Colour) -> String {
    let mut fields = Fields::default();
    fields.add("handle", &task.handle);
    fields.add("id", &task.id);
    let state = match (&task.waiting_on, task.settling) {
        (Some(on), _) => format!("waiting on {on}"),
        (None, true) => format!("{}, the result is being stored", task.state.word()),
        (None, false) => task.state.word().to_owned(),
    };
    fields.add("state", state);
    fields.add_some("lacks", task.lacks.as_ref());
    if let Some(outcome) = &task.outcome {
        outcome_fields(&mut fields, outcome);
    }
    if let (None, Some(cancel)) = (&task.outcome, &task.cancel) {
        let still = if task.unresponsive { ", and it does not stop" } else { "" };
        fields.add(
            "stopping",
            format!("{} {}{still}", asked(cancel, ""), time::ago(&cancel.at, now)),
        );
    }
    fields.add_some("asks", task.question.as_ref().map(|question| &question.text));
    fields.add_some("approval", task.approval.as_ref().map(approval));
    fields.add_some("model error", delay(task).map(|delay| delay_text(&delay, now)));
    fields.add_some("progress", progress(task));
    fields.add_some("spent", task.spent.as_ref().map(|spent| &spent.text));
    report_fields(&mut fields, task);
    fields.add("kind", &task.kind);
    if let Some(command) = &task.command {
        fields.add("command", text::command(&command.argv));
        fields.add("cwd", &command.cwd);
        if !command.env.is_empty() {
            fields.add("env", format!("{} (values are not shown)", command.env.join(", ")));
        }
        fields.add(
            "restart",
            match command.restart {
                Restart::Never => "never: the task is lost if the daemon dies",
                Restart::OnCrash => "on-crash: the command is started again if the daemon dies",
            },
        );
    }
    if let Some(agent) = &task.agent {
        fields.add("task", bounded(&agent.task, "; all of it: --json"));
        fields.add("model", &agent.model);
        fields.add_some("profile", agent.profile.as_ref());
        fields.add_some(
            "mode",
            agent.mode.as_ref().map(|mode| match agent.asks.as_deref() {
                Some(asks) => format!("{mode}; approver: {asks}"),
                None => mode.clone(),
            }),
        );
    }
    fields.add("session", &task.session);
    fields.add_some("parent", task.lineage.parent.as_ref());
    fields.add("spawned", time::moment(&task.spawned_at, now));
    let started = task.started_at.as_ref().map(|at| time::moment(at, now));
    fields.add_some(
        "started",
        started.map(|at| match task.attempts {
            0 | 1 => at,
            attempts => format!("{at}, attempt {attempts}"),
        }),
    );
    fields.add_some("ended", task.ended_at.as_ref().map(|at| time::moment(at, now)));
    fields.render(colour)
}

/// Adds the fields of a command's own report.
fn report_fields(fields: &mut Fields, task: &Task) {
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64).unwrap_or(0);
    if task.outcome.is_none() {
        fields.add_some("process", reported(task, "pid").map(value));
    }
    if let Some(output) = reported(task, "output") {
        let mut said = size::bytes(number(output, "bytes"));
        if let dropped @ 1.. = number(output, "dropped") {
            said.push_str(&format!(
                ", of which {} in the middle are missing",
                size::bytes(dropped)
            ));
        }
        fields.add("output", said);
    }
    fields.add_some("log error", reported(task, "log_error").map(value));
    fields.add_some("last line", reported(task, "last_line").map(value));
    if let Some(left @ 1..) = reported(task, "left_behind").and_then(Value::as_u64) {
        let left = size::many(left, "process", "processes");
        fields.add("left", format!("{left}, stopped at the end"));
    }
    if reported(task, "environment").is_some_and(|origin| origin == "daemon") {
        fields.add("variables", "those of the daemon; the caller's are never stored");
    }
}

fn outcome_fields(fields: &mut Fields, outcome: &Outcome) {
    let ending = match (outcome.is, &outcome.value) {
        (State::Completed, _) => exit(outcome),
        _ => ending(outcome),
    };
    fields.add_some("ending", Some(ending).filter(|ending| !ending.is_empty()));
    if !outcome.causes.is_empty() {
        fields.add("caused by", outcome.causes.join("\n"));
    }
    if outcome.cancel_requested {
        fields.add("cancel", "requested, but the task completed first");
    }
    // The value of a command is its report.
    if let (Some(returned), None) = (&outcome.value, outcome.exit) {
        let shown = Some(bounded(&value(returned), "; all of it: --result"))
            .filter(|shown| !shown.is_empty());
        fields.add_some("value", shown);
    }
    if outcome.value_bytes.is_some() {
        fields.add("value", format!("{}; all of it: --result", self::ending(outcome)));
    }
    let took = outcome.duration_ms.map(|millis| format!("{} of time", time::long(millis)));
    let cpu = outcome.cpu_ms.map(|millis| format!("{} of processor", time::long(millis)));
    let peak = outcome.peak_bytes.map(|bytes| format!("{} of memory", size::bytes(bytes)));
    let used: Vec<String> = [took, cpu, peak].into_iter().flatten().collect();
    fields.add_some("used", Some(used.join(", ")).filter(|used| !used.is_empty()));
}

#[cfg(test)]
mod tests;
