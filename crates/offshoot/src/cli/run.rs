//! `offshoot run`: has an agent do something.

mod approvals;
mod refusals;
mod snapshots;
mod ticker;
mod tty;
mod watch;

use std::io::{IsTerminal, Read};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use clap::{Args, ValueEnum};
use offshoot_client::wire::{
    CancelOptions, Network, Reply, Request, Run as Asked, RunApprover, RunSession, Sealed, State,
    Task,
};
use offshoot_daemon::Config;
use offshoot_models::Keys;

use super::completions;
use super::context::{CommandContext, StartedRun, run_reply};
use super::error::CliError;
use super::exit::Exit;
use super::globals::{Globals, SessionSource};
use super::interrupt::{Interrupts, StopRequest};
use super::show::{Format, Screen, task, text};
use approvals::{ApprovalChannel, ApprovalPrompt};
use ticker::{RunStatus, Ticker};
use tty::Tty;

/// How much of a pipe is taken for a task.
const LONGEST: u64 = 1 << 20;

/// After how long it is said that a pipe is read.
const SILENCE: Duration = Duration::from_secs(2);

/// Have an agent do something, and print its answer
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git diff | offshoot run 'Write a commit message for this.'
  offshoot run --continue 'And shorter?'
  offshoot run --model offline/survey 'What is in this folder?'   # needs no key

The agent may send others off, and has ended when all of them have. Its answer
alone is printed to the standard output; what they are doing goes to the
standard error, and so does what keeps them waiting: which error a model gave,
which try that was, and when the next one is due. Ctrl-C prompt the agent to stop,
a second one stops it at once; one that was at work before goes on. Whatever
else ends this command, the agent goes on: `offshoot tasks wait` waits for it.

Before they change or run anything, they ask: in place at a terminal, one after
the other, and anybody may answer from another one with `offshoot approve` or
`offshoot deny`. Without a terminal nobody is asked, and it is denied, unless
--ask person says otherwise. --mode plan has them only look, --mode auto has
them ask only for what is guarded. After --detach it waits for `approve`.

What one of them prompt in words is shown with the command that answers it. If
the agent that sent it off does not answer, and nothing else goes on, this
command exits with 6. It exits with 0 if the agent completed, 1 if it failed, 3
if somebody cancelled it, 4 if it was lost, 130 after Ctrl-C.

Each run begins a session of its own, whose first agent is called `lead`, unless
--session or OFFSHOOT_SESSION names one or --continue takes the latest: there
the agent goes on with what was said before. Of those only one can be. What is
said there while the agent is at work is a message to it; if it is stopped
before it has read that, the next run in the session tells it.

Keys and addresses are read from the variables that the providers' own programs
read, such as ANTHROPIC_API_KEY, OPENAI_API_KEY and OPENAI_BASE_URL;
`offshoot models ls` says what is missing. If no model is named, it is one of
Anthropic, OpenAI or Gemini, the first whose key is there. Keys are never
stored: if the daemon dies, the agent goes on as soon as a command that waits
for it or speaks to it brings them again, for the address where it began.

Commands of agents get no variable that looks like a credential: by its name,
such as GH_TOKEN or DATABASE_URL, or because it holds an address with a
password, as a proxy may. `offshoot doctor` lists the ones that are set.
--pass-env NAME gives them one, for the session; `pass_env` in config.json does
so for all sessions.")]
pub(crate) struct Run {
    /// What to do; what comes from a pipe is added to it
    #[arg(value_name = "TASK")]
    task: Vec<String>,
    /// The model, as <provider>/<name> [env: OFFSHOOT_MODEL]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The profile of a new agent; `offshoot agents ls` lists them
    #[arg(long, value_name = "NAME", add = completions::profiles())]
    profile: Option<String>,
    /// How freely agents act: look only, ask before changes, or act
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// What all may spend together, such as `2usd, 200k tokens, 10m`
    #[arg(long, value_name = "BUDGET", allow_hyphen_values = true)]
    budget: Option<String>,
    /// Approver agents ask for leave [default: a person, if there is a terminal]
    #[arg(long, value_name = "WHOM")]
    ask: Option<Approver>,
    /// Let agents read public pages of the network, with the tool `fetch`
    #[arg(long)]
    fetch: bool,
    /// Give commands this variable, although it may hold a credential
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Leave the agent at work, and print its session
    #[arg(long)]
    detach: bool,
    /// Go on with the latest conversation
    #[arg(long = "continue")]
    goes_on: bool,
}

/// How freely agents act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    // ApprovalView and plan, and change nothing.
    Plan,
    // Ask before anything is changed or run; the default.
    Ask,
    // Do what is not guarded, and ask for the rest.
    Auto,
}

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Auto => "auto",
        }
    }
}

/// Approver agents ask for leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Approver {
    // A person: here, or with `offshoot approve` from elsewhere.
    Person,
    // Nobody: what would have to be asked for is denied.
    Nobody,
}

impl Run {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let mut cx = CommandContext::new(globals, screen)?;
        let talk = match (self.goes_on, cx.session_source) {
            (true, SessionSource::Argument) => {
                return Err(CliError::usage("--continue and --session name two conversations")
                    .hint("leave out one of them; --session alone goes on with that session's"));
            }
            (true, SessionSource::Environment) => {
                let said = "--continue and OFFSHOOT_SESSION name two conversations";
                return Err(CliError::usage(said).hint(
                    "leave out --continue to go on with that session's, or unset the variable",
                ));
            }
            (true, SessionSource::Default) => RunSession::Latest,
            (false, SessionSource::Argument | SessionSource::Environment) => {
                RunSession::In(cx.session.clone())
            }
            (false, SessionSource::Default) => RunSession::New,
        };
        let tty = match (screen.format, self.detach) {
            (Format::Text, false) => Tty::find(),
            _ => None,
        };
        let asking = match self.ask {
            Some(Approver::Person) => RunApprover::Person,
            Some(Approver::Nobody) => RunApprover::None,
            // Whoever leaves an agent at work can come back to it.
            None if self.detach || tty.is_some() => RunApprover::Person,
            None => RunApprover::None,
        };
        let folder = std::env::current_dir().map_err(|error| CliError::other(&error))?;
        let asked = Asked {
            talk,
            task: self.task(screen)?,
            model: self.model.clone(),
            usual: set_model(),
            folder: folder.to_string_lossy().into_owned(),
            profile: self.profile.clone(),
            mode: self.mode.map(|mode| mode.word().to_owned()),
            budget: self.budget.clone(),
            approver: asking,
            network: if self.fetch { Network::Pages } else { Network::Closed },
            keys: keys(),
            pass_env: passed(&self.pass_env)?,
            key: uuid::Uuid::new_v4().simple().to_string(),
        };
        // Before the agent is there, so that no Ctrl-C is missed.
        let interrupts = Interrupts::listen()?;
        let lead = run_reply(cx.ask(&Request::Run(Box::new(asked))).await?)?;
        cx.session.clone_from(&lead.task.session);
        for note in &lead.notes {
            cx.screen.remark(&format!("offshoot: {}", text::line(note)));
        }
        match self.detach {
            true => leave(&cx, &lead.task),
            false => {
                let answers = match (asking, tty) {
                    (RunApprover::Person, Some(tty)) => ApprovalChannel::Terminal(tty),
                    // Whoever has asked the agent before may be there.
                    (RunApprover::None, _) if lead.message.is_none() => ApprovalChannel::Deny,
                    _ => ApprovalChannel::Elsewhere,
                };
                stay(cx, lead, interrupts, answers).await
            }
        }
    }

    /// What was typed, and what comes from a pipe.
    fn task(&self, screen: Screen) -> Result<String, CliError> {
        let mut task = self.task.join(" ").trim().to_owned();
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            let mut piped = Vec::new();
            let reading = tell_if_long(screen);
            stdin
                .lock()
                .take(LONGEST + 1)
                .read_to_end(&mut piped)
                .map_err(|error| CliError::other(&error))?;
            drop(reading);
            if piped.len() as u64 > LONGEST {
                return Err(CliError::usage("what comes from the pipe is longer than a megabyte")
                    .hint("the agent is given all of it at once: shorten it"));
            }
            let piped = String::from_utf8_lossy(&piped);
            if !piped.trim().is_empty() {
                let gap = if task.is_empty() { "" } else { "\n\n" };
                task = format!("{task}{gap}{}", piped.trim_end());
            }
        }
        if task.is_empty() {
            return Err(CliError::usage("nothing was said to do")
                .hint("offshoot run 'What is in this folder?'"));
        }
        Ok(task)
    }
}

/// Says after a while that a pipe is read, unless what this returns is dropped
/// before: whoever has left one open sees nothing else happen.
fn tell_if_long(screen: Screen) -> Sender<()> {
    let (reading, read) = channel();
    std::thread::spawn(move || {
        if read.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            screen.remark(
                "offshoot: reading what belongs to the task from the standard input until that \
                 ends; `</dev/null` leaves it out",
            );
        }
    });
    reading
}

/// The model that somebody has set for all runs.
fn set_model() -> Option<String> {
    std::env::var("OFFSHOOT_MODEL").ok().filter(|set| !set.trim().is_empty())
}

/// The keys and addresses that are set here.
pub(crate) fn keys() -> Sealed {
    let set = |name: &'static str| Some((name.to_owned(), std::env::var(name).ok()?));
    Sealed(Keys::names().filter_map(set).collect())
}

/// The variables that are passed to commands, with their values here: those that
/// were named, which must be set, and those of the configuration, which may be.
fn passed(named: &[String]) -> Result<Sealed, CliError> {
    let config = Config::own().map_err(|error| {
        CliError::usage(error.to_string()).hint("correct the file, or remove it")
    })?;
    let set = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
    let mut passed = Sealed(config.commands.pass_env.iter().filter_map(set).collect());
    for name in named {
        let Some((name, value)) = set(name) else {
            let said = format!("--pass-env names {name:?}, which is not set here, or is not UTF-8");
            return Err(CliError::usage(said).hint("set and export it, or leave out the option"));
        };
        passed.0.insert(name, value);
    }
    Ok(passed)
}

fn leave(cx: &CommandContext, task: &Task) -> Result<Exit, CliError> {
    cx.report(task, |task| format!("{}\n", text::line(&task.session)))?;
    let wait = cx.command_in(&task.session, "tasks wait", &[&task.handle]);
    cx.screen.tell(&format!("wait for it with: {wait}"));
    Ok(Exit::Done)
}

/// Waits for the agent, and prints what it says.
async fn stay(
    cx: CommandContext,
    lead: StartedRun,
    mut interrupts: Interrupts,
    answers: ApprovalChannel,
) -> Result<Exit, CliError> {
    let StartedRun { task: begun, message, before, .. } = lead;
    let mut ticker = Ticker::new(&cx, &begun, before);
    let mut prompt = ApprovalPrompt::new(&cx, &begun, answers);
    let ended = {
        let mut end = std::pin::pin!(cx.end_of(begun.id.clone()));
        loop {
            tokio::select! {
                ended = &mut end => break ended?,
                status = ticker.next(), if !prompt.is_asking() => if status == RunStatus::Standstill {
                    return unanswered(&cx, &begun).await;
                },
                () = prompt.next() => {}
                stop_request = interrupts.next() => {
                    if stop_request == StopRequest::Detach {
                        return Ok(Exit::Interrupted);
                    }
                    if message.is_some() {
                        tell_left(&cx, &begun);
                        return Ok(Exit::Interrupted);
                    }
                    tokio::spawn(stop(cx.clone(), begun.clone(), stop_request));
                }
            }
        }
    };
    let rest = async {
        prompt.leave().await;
        ticker.rest().await;
    };
    tokio::select! {
        () = rest => {}
        // Whoever does not want to see the rest wants the answer.
        _ = interrupts.next() => {}
    }
    let Some(outcome) = &ended.outcome else {
        if cx.screen.format == Format::Json {
            cx.screen.json(&ended)?;
        }
        cx.screen.remark(&format!("offshoot: {}", task::digest(&ended, "", cx.screen.err)));
        return Ok(Exit::NeedsInput);
    };
    match (cx.screen.format, &outcome.value) {
        (Format::Json, _) => cx.screen.json(&ended)?,
        (Format::Text, Some(answer)) => cx.screen.say(&task::returned(answer, cx.screen))?,
        (Format::Text, None) => {
            // What came of an answer that was cut off has lines of its own.
            let how = text::lines(&task::ending(outcome));
            let handle = text::line(&ended.handle);
            let how = how.trim().replace('\n', "\n  ");
            cx.screen.remark(&format!("offshoot: {handle} {}: {how}", ended.state.word()));
        }
    }
    if let Some(spent) = &ended.spent {
        cx.screen.remark(&format!("offshoot: spent {}", text::line(&spent.text)));
    }
    if let Some(message) = message {
        tell_unread(&cx, &ended, message).await;
    }
    let exit = match (ended.state, interrupts.stop_request()) {
        (State::Cancelled, StopRequest::Stop | StopRequest::StopNow) => Exit::Interrupted,
        (state, _) => Exit::of_state(state),
    };
    cx.acknowledge(vec![ended.id]).await;
    Ok(exit)
}

/// Says that an agent goes on which others had asked before.
fn tell_left(cx: &CommandContext, lead: &Task) {
    let handle = text::line(&lead.handle);
    let cancel = cx.command_in(&lead.session, "tasks cancel", &[&lead.handle]);
    cx.screen.remark(&format!(
        "\noffshoot: {handle} was at work before, and goes on with what you said; for all who \
         wait for it, this stops it: {cancel}"
    ));
}

/// Says so if an agent has ended before it read what was said to it here. Its end
/// is known in any case, so nothing is said of what cannot be asked.
async fn tell_unread(cx: &CommandContext, ended: &Task, message: String) {
    let receipt = Request::Receipt { task: cx.named(&ended.id), message };
    let Ok(Reply::Sent { state, .. }) = cx.client.ask(&receipt).await else { return };
    if state == "returned" {
        let handle = text::line(&ended.handle);
        let run = cx.command_in(&ended.session, "run", &["TASK"]);
        cx.screen.remark(&format!(
            "offshoot: {handle} had not read what you said; whoever goes on with the conversation \
             is told: {run}"
        ));
    }
}

/// Nothing goes on before a person answers: there is nothing to wait for.
async fn unanswered(cx: &CommandContext, lead: &Task) -> Result<Exit, CliError> {
    if cx.screen.format == Format::Json {
        cx.screen.json(&cx.show(&lead.id).await?)?;
    }
    let wait = cx.command_in(&lead.session, "tasks wait", &[&lead.handle]);
    cx.screen.remark(&format!("offshoot: nothing goes on before that is answered; then: {wait}"));
    Ok(Exit::NeedsInput)
}

async fn stop(cx: CommandContext, task: Task, stop_request: StopRequest) {
    let (said, grace_ms) = match stop_request {
        StopRequest::StopNow => ("stopping it at once; Ctrl-C again leaves it", Some(0)),
        _ => ("asked it to stop; Ctrl-C again stops it at once", None),
    };
    cx.screen.remark(&format!("\noffshoot: {}: {said}", text::line(&task.handle)));
    let stop = CancelOptions { reason: Some("Ctrl-C".to_owned()), grace_ms };
    let cancel = Request::Cancel { task: cx.named(&task.id), stop };
    if let Err(error) = cx.client.ask(&cancel).await {
        cx.screen.remark(&format!("offshoot: it could not be asked to stop: {error}"));
    }
}
