//! `offshoot run`: runs an agent.

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

/// The largest prompt that is read from a pipe, in bytes.
const LONGEST: u64 = 1 << 20;

/// The delay before the user is told that a pipe is being read.
const SILENCE: Duration = Duration::from_secs(2);

/// Run an agent, and print its answer
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git diff | offshoot run 'Write a commit message for this.'
  offshoot run --continue 'And shorter?'
  offshoot run --model offline/survey 'What is in this directory?'   # no key

Output: the agent's answer goes to the standard output, progress and errors go
to the standard error. The run ends when the agent and all its children have
ended. Ctrl-C stops an agent that this command started; a second Ctrl-C stops it
at once. If this command ends in another way, the agent keeps running: see
`offshoot tasks wait`.

Approvals: an agent asks before it changes a file or runs a command. At a
terminal you answer in place, or elsewhere with `offshoot approve` and `offshoot
deny`. Without a terminal, requests are denied unless --ask person is given.
With --detach, requests wait for `offshoot approve`.

Questions: an agent's question is shown with the command that answers it. If
every agent waits for such an answer, this command exits with 6.

Sessions: a run starts a new session, in which its agent is called `lead`.
--session and OFFSHOOT_SESSION continue the conversation of a session,
--continue that of the latest one; use only one of the three. If the agent of
that session is still running, the prompt is sent to it as a message.

Keys: provider keys and addresses come from the variables that the providers'
own tools use, such as ANTHROPIC_API_KEY and OPENAI_BASE_URL. The default model
belongs to the first of Anthropic, OpenAI and Gemini that has a key. Keys are
never stored. After a crash of the daemon, the agent continues as soon as a
command such as `tasks wait` brings the keys again.

Credentials: an agent's commands do not get variables that look like
credentials, such as GH_TOKEN or DATABASE_URL. `offshoot doctor` lists the ones
that are set. --pass-env passes one for this session, `pass_env` in config.json
for all sessions.

Exit codes: 0 completed, 1 failed, 3 cancelled, 4 lost, 6 needs input, 130
after Ctrl-C.")]
pub(crate) struct Run {
    /// The prompt; text from a pipe is appended to it
    #[arg(value_name = "TASK")]
    task: Vec<String>,
    /// Model, as <provider>/<name> [env: OFFSHOOT_MODEL]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Profile of the agent; `offshoot agents ls` lists the profiles
    #[arg(long, value_name = "NAME", add = completions::profiles())]
    profile: Option<String>,
    /// Only read, ask before changes, or act without asking [default: ask]
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// Budget of the agent and its children, such as `2usd, 200k tokens, 10m`
    #[arg(long, value_name = "BUDGET", allow_hyphen_values = true)]
    budget: Option<String>,
    /// Who decides approval requests [default: person at a terminal, else none]
    #[arg(long, value_name = "WHO")]
    ask: Option<Approver>,
    /// Let agents read public web pages with the tool `fetch`
    #[arg(long)]
    fetch: bool,
    /// Pass this variable to commands, even if it looks like a credential
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// Run the agent in the background, and print its session
    #[arg(long)]
    detach: bool,
    /// Continue the latest conversation
    #[arg(long = "continue")]
    goes_on: bool,
}

/// What agents may do without approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    // Read and plan, and change nothing.
    Plan,
    // Ask before each change and each command. This is the default.
    Ask,
    // Act without asking, except for guarded actions.
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

/// Who decides approval requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Approver {
    // The user: here, or with `offshoot approve` in another terminal.
    Person,
    // Every request is denied.
    #[value(alias = "nobody")]
    None,
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
            Some(Approver::None) => RunApprover::None,
            // The user of a detached run can answer later.
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
        // Listen before the agent exists, so that no Ctrl-C is missed.
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
                    // The user who started the agent may be there.
                    (RunApprover::None, _) if lead.message.is_none() => ApprovalChannel::Deny,
                    _ => ApprovalChannel::Elsewhere,
                };
                stay(cx, lead, interrupts, answers).await
            }
        }
    }

    /// Joins the typed prompt and the text from a pipe.
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
                return Err(CliError::usage("the text from the pipe is longer than 1 MB")
                    .hint("shorten it: the agent reads all of it at once"));
            }
            let piped = String::from_utf8_lossy(&piped);
            if !piped.trim().is_empty() {
                let gap = if task.is_empty() { "" } else { "\n\n" };
                task = format!("{task}{gap}{}", piped.trim_end());
            }
        }
        if task.is_empty() {
            return Err(CliError::usage("the prompt is missing")
                .hint("offshoot run 'What is in this directory?'"));
        }
        Ok(task)
    }
}

/// Tells the user after a while that a pipe is being read.
///
/// Dropping the returned value stops that. A pipe that stays open by mistake
/// would otherwise look like a hang.
fn tell_if_long(screen: Screen) -> Sender<()> {
    let (reading, read) = channel();
    std::thread::spawn(move || {
        if read.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
            screen.remark(
                "offshoot: reading the rest of the prompt from the standard input; \
                 `</dev/null` skips that",
            );
        }
    });
    reading
}

/// The model that the environment sets for all runs.
fn set_model() -> Option<String> {
    std::env::var("OFFSHOOT_MODEL").ok().filter(|set| !set.trim().is_empty())
}

/// Collects the provider keys and addresses that are set in this environment.
pub(crate) fn keys() -> Sealed {
    let set = |name: &'static str| Some((name.to_owned(), std::env::var(name).ok()?));
    Sealed(Keys::names().filter_map(set).collect())
}

/// Collects the variables that are passed to commands, with their values.
///
/// Variables named on the command line must be set; those of the configuration
/// may be missing.
fn passed(named: &[String]) -> Result<Sealed, CliError> {
    let config = Config::own().map_err(|error| {
        CliError::usage(error.to_string()).hint("correct the file, or remove it")
    })?;
    let set = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
    let mut passed = Sealed(config.commands.pass_env.iter().filter_map(set).collect());
    for name in named {
        let Some((name, value)) = set(name) else {
            let message = format!("--pass-env names {name:?}, which is not set or not UTF-8");
            return Err(CliError::usage(message).hint("export the variable, or omit the option"));
        };
        passed.0.insert(name, value);
    }
    Ok(passed)
}

fn leave(cx: &CommandContext, task: &Task) -> Result<Exit, CliError> {
    cx.report(task, |task| format!("{}\n", text::line(&task.session)))?;
    let wait = cx.command_in(&task.session, "tasks wait", &[&task.handle]);
    cx.screen.tell(&format!("wait for the agent with: {wait}"));
    Ok(Exit::Done)
}

/// Waits for the agent, and prints its answer.
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
        // Ctrl-C skips the remaining progress; the answer is still printed.
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
            // A partial answer has several lines.
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

/// Tells the user that an agent which ran before this command keeps running.
fn tell_left(cx: &CommandContext, lead: &Task) {
    let handle = text::line(&lead.handle);
    let cancel = cx.command_in(&lead.session, "tasks cancel", &[&lead.handle]);
    cx.screen.remark(&format!(
        "\noffshoot: {handle} was already running, and keeps running with your message; to stop \
         it: {cancel}"
    ));
}

/// Tells the user if the agent ended before it read the message of this run.
///
/// A failed request is ignored, because the end of the agent is known anyway.
async fn tell_unread(cx: &CommandContext, ended: &Task, message: String) {
    let receipt = Request::Receipt { task: cx.named(&ended.id), message };
    let Ok(Reply::Sent { state, .. }) = cx.client.ask(&receipt).await else { return };
    if state == "returned" {
        let handle = text::line(&ended.handle);
        let run = cx.command_in(&ended.session, "run", &["TASK"]);
        cx.screen.remark(&format!(
            "offshoot: {handle} ended before it read your message; to continue the conversation \
             with it: {run}"
        ));
    }
}

/// Ends the command because every agent waits for an answer.
async fn unanswered(cx: &CommandContext, lead: &Task) -> Result<Exit, CliError> {
    if cx.screen.format == Format::Json {
        cx.screen.json(&cx.show(&lead.id).await?)?;
    }
    let wait = cx.command_in(&lead.session, "tasks wait", &[&lead.handle]);
    cx.screen.remark(&format!("offshoot: the run waits for that answer; then: {wait}"));
    Ok(Exit::NeedsInput)
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
