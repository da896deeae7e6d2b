//! The results of commands, as text for the model.

use std::io;

use offshoot_agent::{CommandOutcome, Output};
use offshoot_backends::{Command, Commands, OutputLog, Report};
use offshoot_core::{FailureKind, Outcome, Task, text};
use offshoot_runtime::TaskRef;

use super::bounds;

/// The number of characters that are shown of a failure.
const SHOWN: usize = 2_000;

/// Texts of programs that wait for input.
const WANTS: [&str; 12] = [
    "EOF",
    "end of file",
    "end of input",
    "stdin",
    "not a tty",
    "no tty",
    "terminal prompts disabled",
    "password",
    "Password",
    "[y/N]",
    "(yes/no)",
    "[Y/n]",
];

/// The hint for a command that waits for input.
const NO_INPUT: &str = "[Commands get no input: one that asks for something finds the end of its \
     input at once. Give it what it needs by options or files.]";

/// Texts of programs that lack a permission.
const DENIED: [&str; 5] =
    ["Permission denied", "Operation not permitted", "EACCES", "Read-only file system", "EROFS"];

/// The hint for a sandboxed command that lacks a permission.
const CONFINED: &str = "[Commands are confined: they can write only in the folder you work in and in \
     $TMPDIR, and do not see some folders. Another spelling does not help. Do without it, or say \
     what the user or another agent has to do.]";

/// Returns the result of a command that has ended, with its output.
///
/// `withheld` names the variables of the host that the command did not get.
pub(super) async fn ended(commands: &Commands, task: &Task, withheld: &[String]) -> Output {
    let wrote = shown(commands, task).await;
    let (verdict, failed) = verdict(task);
    let hints: String = match failed && exited(task) {
        true => {
            let mut hints: String = hints(task, &wrote).flat_map(|hint| ["\n", hint]).collect();
            hints.extend(withheld_hint(task, &wrote, withheld));
            hints
        }
        false => String::new(),
    };
    let shown = match wrote.as_str() {
        "" => "It wrote nothing.".to_owned(),
        text => format!("It wrote:\n{text}"),
    };
    let mut output = Output::text(format!("{verdict}\n{shown}{hints}")).reports_end(task.id());
    output.failed = failed;
    output.command(CommandOutcome { task: task.id(), summary: verdict + &hints, output: wrote })
}

/// Returns the result of a call whose command is still running, with the output so far.
pub(super) async fn goes_on(commands: &Commands, task: &Task, why: &str) -> Output {
    let (handle, wrote) = (task.handle(), shown(commands, task).await);
    let so_far = match wrote.as_str() {
        "" => "It has written nothing so far.".to_owned(),
        text => format!("So far it has written:\n{text}"),
    };
    let said = format!(
        "{why} The command HAS NOT ENDED: it goes on in the background as {handle}, and how it \
         ends is not known yet. Do not run it again. Its end will come to you by itself, as a \
         notice with task=\"{handle}\". To stop it use cancel_task, to read on {}.",
        super::OUTPUT
    );
    Output::text(format!("{said}\n{so_far}")).command(CommandOutcome {
        task: task.id(),
        summary: said,
        output: wrote,
    })
}

/// Returns the result of a call that starts a command in the background.
pub(super) fn begun(command: &TaskRef) -> Output {
    let handle = command.handle();
    let said = format!(
        "Started in the background: {handle}. IT HAS NOT ENDED, and there is no result to report \
         or to guess. Its end will come to you by itself, as a notice with task=\"{handle}\"; what \
         it writes is read with {}. Go on with other work now, or end your turn. Do not poll. If \
         you can do nothing at all without it, call wait_tasks.",
        super::OUTPUT
    );
    Output::text(&*said).command(CommandOutcome {
        task: command.id(),
        summary: said,
        output: String::new(),
    })
}

/// Returns the number of bytes that a command has written.
///
/// Its record is updated now and then, so the log may hold more.
pub(super) async fn written(log: &OutputLog, task: &Task) -> io::Result<u64> {
    let reported = report(task).map_or(0, |report| report.output.bytes);
    Ok(reported.max(log.tail(0).await?))
}

fn report(task: &Task) -> Option<Report> {
    task.progress.as_ref().and_then(|progress| progress.value.decode().ok())
}

/// Returns the part of its output that is shown, or a note if it cannot be read.
async fn shown(commands: &Commands, task: &Task) -> String {
    let log = commands.log(task.id());
    let shown = async { bounds::ends(&log, written(&log, task).await?, task.handle()).await };
    shown.await.unwrap_or_else(|error| format!("[What it wrote cannot be read: {error}.]"))
}

/// Returns how a command ended, and whether that is a failure.
fn verdict(task: &Task) -> (String, bool) {
    let report = report(task).unwrap_or_default();
    let after = match report.duration_ms {
        Some(span) => format!(" after {}.{} s", span / 1_000, span % 1_000 / 100),
        None => String::new(),
    };
    let left = match report.left_behind {
        0 => String::new(),
        1 => " A process that it left running was ended.".to_owned(),
        many => format!(" {many} processes that it left running were ended."),
    };
    let (said, failed) = match task.ended() {
        Some(Outcome::Completed { .. }) => (format!("Exit code 0{after}."), false),
        Some(Outcome::Failed(failure)) => match failure.kind {
            FailureKind::Exit(code) => (format!("FAILED: exit code {code}{after}."), true),
            FailureKind::Signal(_) => {
                (format!("FAILED: it {}{after}.", text::cut(&failure.message, SHOWN)), true)
            }
            _ => (format!("FAILED: {}.", text::cut(&failure.to_string(), SHOWN)), true),
        },
        Some(Outcome::Cancelled { cancel, .. }) => {
            let reason = text::cut(&cancel.reason, SHOWN);
            (format!("CANCELLED{after}: it was stopped by {}: {reason}.", cancel.by), true)
        }
        Some(Outcome::Lost { reason }) => (
            format!(
                "LOST: whether it took effect is unknown, and it was not run again. {}.",
                text::cut(reason, SHOWN)
            ),
            true,
        ),
        None => (format!("It has not ended: it is {}.", task.state), true),
    };
    (said + &left, failed)
}

/// Whether a command ended with an exit code other than 0.
fn exited(task: &Task) -> bool {
    let Some(Outcome::Failed(failure)) = task.ended() else { return false };
    matches!(failure.kind, FailureKind::Exit(_))
}

/// Returns hints that may help with a failure.
fn hints(task: &Task, shown: &str) -> impl Iterator<Item = &'static str> {
    let says = |words: &[&str]| words.iter().any(|word| shown.contains(word));
    let wants_input = shown.is_empty() || says(&WANTS);
    let is_denied = says(&DENIED) && is_confined(task);
    [wants_input.then_some(NO_INPUT), is_denied.then_some(CONFINED)].into_iter().flatten()
}

/// Returns a hint about a withheld variable that the command or its output names.
fn withheld_hint(task: &Task, shown: &str, withheld: &[String]) -> Option<String> {
    let command = task.spec.input.decode::<Command>().map(|command| command.shown().args);
    let line = command.unwrap_or_default().join(" ");
    let name = withheld.iter().find(|name| line.contains(*name) || shown.contains(*name))?;
    Some(format!(
        "\n[The variable {name} is withheld from commands, because it looks like a \
         credential. Only a person can pass it, with `offshoot run --pass-env {name}`. Do without \
         it, or say that it is needed.]"
    ))
}

fn is_confined(task: &Task) -> bool {
    let command = task.spec.input.decode::<Command>();
    command.is_ok_and(|command| command.shown().confinement.is_some())
}
