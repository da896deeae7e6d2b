//! An attached command: passes on its output and its exit code.

use offshoot_client::wire::{
    Attachment, CancelOptions, Code, Reply, Request, Spawn, State, Stdin, Tail, TailMode,
    TailStart, Task, WireError,
};
use offshoot_client::{Error, InputSender, ReplyStream as Stream, StreamItem};

use super::children;
use super::feed::{self, InputFailure};
use crate::cli::context::{CommandContext, task_reply};
use crate::cli::error::CliError;
use crate::cli::exit::{Exit, StopOrigin};
use crate::cli::interrupt::{Interrupts, StopRequest};
use crate::cli::output::{OutputFilter, OutputStream};
use crate::cli::pump::{OutputStreams, Pump, PumpResult};
use crate::cli::show::{Format, size, task, text};

/// The number of daemons to try in a row if each of them dies.
const TRIES: u32 = 5;

/// Spawns the command, and waits until it has ended.
pub(super) async fn run(cx: CommandContext, spawn: Spawn) -> Result<Exit, CliError> {
    // Listen before the command exists, so that no Ctrl-C is missed.
    let mut interrupts = Interrupts::listen()?;
    let SpawnedCommand { task, stream, input } = spawn_command(&cx, spawn).await?;
    let mut following = tokio::spawn(to_the_end(cx.clone(), task.id.clone(), stream));
    let failure = InputFailure::default();
    if let Some(input) = input {
        tokio::spawn(fed(cx.clone(), input, failure.clone()));
    }
    if cx.screen.format == Format::Text {
        tokio::spawn(children::tell(cx.clone(), task.id.clone()));
    }
    let ended = loop {
        tokio::select! {
            ended = &mut following => break ended.map_err(|error| CliError::other(&error))?,
            stop_request = interrupts.next() => {
                if stop_request == StopRequest::Detach {
                    cx.screen.remark(&goes_on(&cx, &task));
                    return Ok(Exit::Interrupted);
                }
                tokio::spawn(stop(cx.clone(), task.clone(), stop_request));
            }
        }
    };
    match ended {
        Ok(ended) => {
            let whole = is_whole(&cx, &ended, &failure);
            let exit = finish(&cx, ended.task, interrupts.stop_request()).await?;
            whole.map(|()| exit)
        }
        Err(CliError::ReaderGone) => {
            cx.screen.tell(&goes_on(&cx, &task));
            Ok(Exit::ReaderGone)
        }
        Err(error) => Err(error.hint(goes_on(&cx, &task))),
    }
}

/// A command that was spawned.
struct SpawnedCommand {
    task: Task,
    /// Its output, if that comes with the reply.
    stream: Option<Stream>,
    /// The target of the standard input, if the command reads it.
    input: Option<InputSender>,
}

/// Spawns the command.
///
/// If the daemon dies before it replies, the request is repeated; its key makes
/// the next daemon find the task or create it. No input is read before the reply,
/// so none is lost with a daemon.
async fn spawn_command(cx: &CommandContext, spawn: Spawn) -> Result<SpawnedCommand, CliError> {
    let (attachment, stdin) = (spawn.attachment, spawn.stdin);
    let request = Request::Spawn(Box::new(spawn));
    if attachment == Attachment::Detached && stdin == Stdin::Messages {
        return Ok(SpawnedCommand {
            task: task_reply(cx.ask(&request).await?)?,
            stream: None,
            input: None,
        });
    }
    let mut tries = 1;
    loop {
        let mut stream = cx.client.follow(&request).await?;
        match stream.next().await {
            Ok(Some(StreamItem::Reply(Reply::Task(task)))) => {
                let input = if stdin == Stdin::Follows { stream.input() } else { None };
                return Ok(SpawnedCommand { task: *task, stream: Some(stream), input });
            }
            Ok(_) => return Err(Error::WrongAnswer.into()),
            Err(error) if error.is_broken_off() && tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Passes on the output of the command, and returns its record at the end.
async fn to_the_end(
    cx: CommandContext,
    task: String,
    stream: Option<Stream>,
) -> Result<PumpResult, CliError> {
    if cx.screen.format == Format::Json {
        let ended = cx.end_of(task).await;
        // The input uses the same connection while it is open.
        drop(stream);
        return ended.map(|task| PumpResult { task, missing: 0 });
    }
    let streams = OutputStreams {
        out: (OutputStream::stdout()?, OutputFilter::Exact),
        err: (OutputStream::stderr()?, OutputFilter::Exact),
    };
    let named = cx.named(&task);
    let tail = Tail { task: named, reading: TailStart::Start, following: TailMode::Follow };
    let pump = Pump::new(cx.clone(), tail, streams);
    let mut ended = match stream {
        Some(stream) => pump.run_on(stream).await?,
        None => pump.run().await?,
    };
    if !ended.task.state.is_terminal() {
        ended.task = cx.end_of(task).await?;
    }
    Ok(ended)
}

async fn fed(cx: CommandContext, input: InputSender, failure: InputFailure) {
    feed::feed(input, &failure).await;
    if failure.why().is_some() {
        cx.screen.tell("offshoot: cannot read the rest of the input");
    }
}

/// Fails if a part of the input or the output was lost.
///
/// A caller that relies on the exit code must not take a part for the whole.
fn is_whole(
    cx: &CommandContext,
    ended: &PumpResult,
    failure: &InputFailure,
) -> Result<(), CliError> {
    let PumpResult { task, missing } = ended;
    let (said, why) = match (failure.why(), missing) {
        (Some(why), _) => ("cannot read the input to its end".to_owned(), Some(why)),
        (None, 0) => return Ok(()),
        (None, missing) => {
            let report = task.progress.as_ref().map(|progress| &progress.value);
            let why = report.and_then(|report| report["log_error"].as_str());
            let missing = size::bytes(*missing);
            (format!("the output is incomplete: {missing} were not kept"), why)
        }
    };
    let causes = why.into_iter().map(str::to_owned).collect();
    let how = task.outcome.as_ref().map(|outcome| text::line(&task::ending(outcome)));
    let how = how.filter(|how| !how.is_empty()).unwrap_or_else(|| task.state.word().to_owned());
    let see = cx.command("tasks show", &[&task.id]);
    let hint = format!("the command itself ended with: {how}; see {see}");
    Err(CliError::from(WireError { causes, ..WireError::new(Code::Other, said) }).hint(hint))
}

async fn stop(cx: CommandContext, task: Task, stop_request: StopRequest) {
    let (said, grace_ms) = match stop_request {
        StopRequest::StopNow => ("stopping at once; Ctrl-C again detaches", Some(0)),
        _ => ("stopping; Ctrl-C again stops it at once", None),
    };
    cx.screen.remark(&format!("\noffshoot: {}: {said}", text::line(&task.handle)));
    let stop = CancelOptions { reason: Some("Ctrl-C".to_owned()), grace_ms };
    let cancel = Request::Cancel { task: cx.named(&task.id), stop };
    if let Err(error) = cx.client.ask(&cancel).await {
        cx.screen.remark(&format!("offshoot: cannot stop it: {error}"));
    }
}

/// Prints the end of the command where the exit code does not show it, and marks
/// the result as read.
async fn finish(
    cx: &CommandContext,
    task: Task,
    stop_request: StopRequest,
) -> Result<Exit, CliError> {
    let Some(outcome) = &task.outcome else {
        cx.screen.remark(&format!("offshoot: {}", task::digest(&task, "", cx.screen.err)));
        return Ok(Exit::NeedsInput);
    };
    match cx.screen.format {
        Format::Json => cx.screen.json(&task)?,
        Format::Text => {
            if let Some(said) = said(&task) {
                cx.screen.remark(&format!("offshoot: {} {said}", text::line(&task.handle)));
            }
        }
    }
    let stopped =
        if stop_request == StopRequest::None { StopOrigin::Elsewhere } else { StopOrigin::CtrlC };
    let exit = Exit::of_command(outcome, stopped);
    cx.acknowledge(vec![task.id]).await;
    Ok(exit)
}

/// Describes an end other than the command's own exit.
fn said(task: &Task) -> Option<String> {
    let outcome = task.outcome.as_ref()?;
    let own = outcome.failure.as_deref().is_some_and(|kind| kind == "exit");
    match outcome.is {
        State::Completed => None,
        State::Failed if own => None,
        state => Some(match text::line(&task::ending(outcome)).as_str() {
            "" => state.word().to_owned(),
            ending => format!("{}: {ending}", state.word()),
        }),
    }
}

fn goes_on(cx: &CommandContext, task: &Task) -> String {
    let handle = text::line(&task.handle);
    format!("{handle} keeps running; see {}", cx.command("tasks tail", &["-f", &task.handle]))
}
