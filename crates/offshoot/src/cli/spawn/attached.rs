//! Staying with a command: what it writes is passed on, and its end is ours.

use offshoot_client::wire::{
    Attachment, CancelOptions, Code, Reply, Request, Spawn, State, Stdin, Tail, TailMode,
    TailStart, Task, WireError,
};
use offshoot_client::{Error, InputSender, ReplyStream as Stream, StreamItem};

use super::children;
use super::feed::{self, Unread};
use crate::cli::desk::{Desk, task_of};
use crate::cli::exit::{Exit, StoppedBy};
use crate::cli::interrupt::{Interrupts, Wish};
use crate::cli::outlet::{Outlet, Passing};
use crate::cli::pump::{Outlets, Pump, Pumped};
use crate::cli::show::{Form, size, task, text};
use crate::cli::trouble::Trouble;

/// How many daemons are asked, one after the other, if each of them dies.
const TRIES: u32 = 5;

/// Sends the command off and stays until it has ended.
pub(super) async fn run(desk: Desk, spawn: Spawn) -> Result<Exit, Trouble> {
    // Before the command is there, so that no Ctrl-C is missed.
    let mut interrupts = Interrupts::listen()?;
    let Sent { task, stream, input } = send_off(&desk, spawn).await?;
    let mut following = tokio::spawn(to_the_end(desk.clone(), task.id.clone(), stream));
    let unread = Unread::default();
    if let Some(input) = input {
        tokio::spawn(fed(desk.clone(), input, unread.clone()));
    }
    if desk.screen.form == Form::People {
        tokio::spawn(children::tell(desk.clone(), task.id.clone()));
    }
    let ended = loop {
        tokio::select! {
            ended = &mut following => break ended.map_err(|error| Trouble::other(&error))?,
            wish = interrupts.next() => {
                if wish == Wish::Leave {
                    desk.screen.remark(&goes_on(&desk, &task));
                    return Ok(Exit::Interrupted);
                }
                tokio::spawn(stop(desk.clone(), task.clone(), wish));
            }
        }
    };
    match ended {
        Ok(ended) => {
            let whole = is_whole(&desk, &ended, &unread);
            let exit = finish(&desk, ended.task, interrupts.wish()).await?;
            whole.map(|()| exit)
        }
        Err(Trouble::ReaderGone) => {
            desk.screen.tell(&goes_on(&desk, &task));
            Ok(Exit::ReaderGone)
        }
        Err(trouble) => Err(trouble.hint(goes_on(&desk, &task))),
    }
}

/// A command that was sent off.
struct Sent {
    task: Task,
    /// What it writes, if that comes with the answer.
    stream: Option<Stream>,
    /// Where our input goes, if it gets that.
    input: Option<InputSender>,
}

/// Sends the command off. If the daemon dies before it has said so, the next
/// one is asked for the same: it has such a task, or it makes it now. None of
/// our input is read before that, so that none is lost with a daemon.
async fn send_off(desk: &Desk, spawn: Spawn) -> Result<Sent, Trouble> {
    let (attachment, stdin) = (spawn.attachment, spawn.stdin);
    let request = Request::Spawn(Box::new(spawn));
    if attachment == Attachment::Detached && stdin == Stdin::Messages {
        return Ok(Sent { task: task_of(desk.ask(&request).await?)?, stream: None, input: None });
    }
    let mut tries = 1;
    loop {
        let mut stream = desk.client.follow(&request).await?;
        match stream.next().await {
            Ok(Some(StreamItem::Reply(Reply::Task(task)))) => {
                let input = if stdin == Stdin::Follows { stream.input() } else { None };
                return Ok(Sent { task: *task, stream: Some(stream), input });
            }
            Ok(_) => return Err(Error::WrongAnswer.into()),
            Err(error) if error.is_broken_off() && tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Passes on what the command writes, and gives its record once it has ended.
async fn to_the_end(desk: Desk, task: String, stream: Option<Stream>) -> Result<Pumped, Trouble> {
    if desk.screen.form == Form::Json {
        let ended = desk.end_of(task).await;
        // The input goes the same way, for as long as it is open.
        drop(stream);
        return ended.map(|task| Pumped { task, missing: 0 });
    }
    let outlets = Outlets {
        out: (Outlet::stdout()?, Passing::Exact),
        err: (Outlet::stderr()?, Passing::Exact),
    };
    let named = desk.named(&task);
    let tail = Tail { task: named, reading: TailStart::Start, following: TailMode::Follow };
    let pump = Pump::new(desk.clone(), tail, outlets);
    let mut ended = match stream {
        Some(stream) => pump.run_on(stream).await?,
        None => pump.run().await?,
    };
    if !ended.task.state.is_terminal() {
        ended.task = desk.end_of(task).await?;
    }
    Ok(ended)
}

async fn fed(desk: Desk, input: InputSender, unread: Unread) {
    feed::feed(input, &unread).await;
    if unread.why().is_some() {
        desk.screen.tell("offshoot: the input ends here, it cannot be read");
    }
}

/// Whether everything was passed on, both ways. If not, whoever goes by our exit
/// code must not take a part for the whole, however the command ended.
fn is_whole(desk: &Desk, ended: &Pumped, unread: &Unread) -> Result<(), Trouble> {
    let Pumped { task, missing } = ended;
    let (said, why) = match (unread.why(), missing) {
        (Some(why), _) => ("the input could not be read to its end".to_owned(), Some(why)),
        (None, 0) => return Ok(()),
        (None, missing) => {
            let report = task.progress.as_ref().map(|progress| &progress.value);
            let why = report.and_then(|report| report["log_error"].as_str());
            let missing = size::bytes(*missing);
            (format!("the output was not passed on whole: {missing} could not be kept"), why)
        }
    };
    let causes = why.into_iter().map(str::to_owned).collect();
    let how = task.outcome.as_ref().map(|outcome| text::line(&task::ending(outcome)));
    let how = how.filter(|how| !how.is_empty()).unwrap_or_else(|| task.state.word().to_owned());
    let see = desk.command("tasks show", &[&task.id]);
    let hint = format!("the command itself ended with: {how}; see {see}");
    Err(Trouble::from(WireError { causes, ..WireError::new(Code::Other, said) }).hint(hint))
}

async fn stop(desk: Desk, task: Task, wish: Wish) {
    let (said, grace_ms) = match wish {
        Wish::StopNow => ("stopping it at once; Ctrl-C again leaves it", Some(0)),
        _ => ("asked it to stop; Ctrl-C again stops it at once", None),
    };
    desk.screen.remark(&format!("\noffshoot: {}: {said}", text::line(&task.handle)));
    let stop = CancelOptions { reason: Some("Ctrl-C".to_owned()), grace_ms };
    let cancel = Request::Cancel { task: desk.named(&task.id), stop };
    if let Err(error) = desk.client.ask(&cancel).await {
        desk.screen.remark(&format!("offshoot: it could not be asked to stop: {error}"));
    }
}

/// Tells how it ended, where its exit code does not, and acknowledges that.
async fn finish(desk: &Desk, task: Task, wish: Wish) -> Result<Exit, Trouble> {
    let Some(outcome) = &task.outcome else {
        desk.screen.remark(&format!("offshoot: {}", task::digest(&task, "", desk.screen.err)));
        return Ok(Exit::NeedsInput);
    };
    match desk.screen.form {
        Form::Json => desk.screen.json(&task)?,
        Form::People => {
            if let Some(said) = said(&task) {
                desk.screen.remark(&format!("offshoot: {} {said}", text::line(&task.handle)));
            }
        }
    }
    let stopped = if wish == Wish::None { StoppedBy::Others } else { StoppedBy::CtrlC };
    let exit = Exit::of_command(outcome, stopped);
    desk.acknowledge(vec![task.id]).await;
    Ok(exit)
}

/// What is to be said of an end that is not simply the command's own.
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

fn goes_on(desk: &Desk, task: &Task) -> String {
    let handle = text::line(&task.handle);
    format!("{handle} goes on; see {}", desk.command("tasks tail", &["-f", &task.handle]))
}
