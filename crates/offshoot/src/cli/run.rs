//! `offshoot run`: has an agent do something.

mod ticker;

use std::io::{IsTerminal, Read};

use clap::Args;
use offshoot_client::wire::{Request, Run as Asked, Sealed, State, Stop, Talk, Task};
use offshoot_models::Keys;

use super::desk::{Desk, task_of};
use super::exit::Exit;
use super::globals::{Chosen, Globals};
use super::interrupt::{Interrupts, Wish};
use super::show::{Form, Screen, task, text};
use super::trouble::Trouble;
use ticker::Ticker;

/// How much of a pipe is taken for a task.
const LONGEST: u64 = 1 << 20;

/// Have an agent do something, and print its answer
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git diff | offshoot run 'Write a commit message for this.'
  offshoot run --continue 'And shorter?'
  offshoot run --model offline/survey 'What is in this folder?'   # needs no key

The agent may send others off, and has ended when all of them have. Its answer
alone is printed to the standard output; what they are doing goes to the
standard error. Ctrl-C asks it to stop, a second one stops it at once. Whatever
else ends this command, the agent goes on: `offshoot tasks wait` waits for it.

Each run begins a session of its own, whose first agent is called `lead`, unless
--session or OFFSHOOT_SESSION names one or --continue takes the latest: there
the agent goes on with what was said before.

Keys and addresses are read from the variables that the providers' own programs
read, such as ANTHROPIC_API_KEY, OPENAI_API_KEY and OPENAI_BASE_URL;
`offshoot models ls` says what is missing. If no model is named, it is one of
Anthropic, OpenAI or Gemini, the first whose key is there. Keys are never
stored: if the daemon dies, the agent goes on as soon as a command that waits
for it or speaks to it brings them again, for the address where it began.")]
pub(crate) struct Run {
    /// What to do; what comes from a pipe is added to it
    #[arg(value_name = "TASK")]
    task: Vec<String>,
    /// The model, as <provider>/<name> [env: OFFSHOOT_MODEL]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Leave the agent at work, and print its session
    #[arg(long)]
    detach: bool,
    /// Go on with the latest conversation
    #[arg(long = "continue")]
    goes_on: bool,
}

impl Run {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let mut desk = Desk::new(globals, screen)?;
        let talk = match (self.goes_on, desk.chosen) {
            (true, Chosen::Here) => {
                return Err(Trouble::usage("--continue and --session name two conversations")
                    .hint("leave out one of them; --session alone goes on with that session's"));
            }
            (true, Chosen::Around | Chosen::Nowhere) => Talk::Latest,
            (false, Chosen::Here | Chosen::Around) => Talk::In(desk.session.clone()),
            (false, Chosen::Nowhere) => Talk::New,
        };
        let folder = std::env::current_dir().map_err(|error| Trouble::other(&error))?;
        let asked = Asked {
            talk,
            task: self.task()?,
            model: self.model.clone(),
            usual: set_model(),
            folder: folder.to_string_lossy().into_owned(),
            keys: keys(),
            key: uuid::Uuid::new_v4().simple().to_string(),
        };
        // Before the agent is there, so that no Ctrl-C is missed.
        let interrupts = Interrupts::listen()?;
        let task = task_of(desk.ask(&Request::Run(Box::new(asked))).await?)?;
        desk.session.clone_from(&task.session);
        match self.detach {
            true => leave(&desk, &task),
            false => stay(desk, task, interrupts).await,
        }
    }

    /// What was typed, and what comes from a pipe.
    fn task(&self) -> Result<String, Trouble> {
        let mut task = self.task.join(" ").trim().to_owned();
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            let mut piped = Vec::new();
            stdin
                .lock()
                .take(LONGEST + 1)
                .read_to_end(&mut piped)
                .map_err(|error| Trouble::other(&error))?;
            if piped.len() as u64 > LONGEST {
                return Err(Trouble::usage("what comes from the pipe is longer than a megabyte")
                    .hint("write it into a file, and say where that is"));
            }
            let piped = String::from_utf8_lossy(&piped);
            if !piped.trim().is_empty() {
                let gap = if task.is_empty() { "" } else { "\n\n" };
                task = format!("{task}{gap}{}", piped.trim_end());
            }
        }
        if task.is_empty() {
            return Err(Trouble::usage("nothing was said to do")
                .hint("offshoot run 'What is in this folder?'"));
        }
        Ok(task)
    }
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

fn leave(desk: &Desk, task: &Task) -> Result<Exit, Trouble> {
    desk.report(task, |task| format!("{}\n", text::line(&task.session)))?;
    let session = ["--session", &task.session, &task.handle];
    desk.screen.tell(&format!("wait for it with: {}", desk.command("tasks wait", &session)));
    Ok(Exit::Done)
}

/// Waits for the agent, and prints what it says.
async fn stay(desk: Desk, begun: Task, mut interrupts: Interrupts) -> Result<Exit, Trouble> {
    let mut ticker = Ticker::new(&desk, &begun);
    let ended = {
        let mut end = std::pin::pin!(desk.end_of(begun.id.clone()));
        loop {
            tokio::select! {
                ended = &mut end => break ended?,
                () = ticker.next() => {}
                wish = interrupts.next() => {
                    if wish == Wish::Leave {
                        return Ok(Exit::Interrupted);
                    }
                    tokio::spawn(stop(desk.clone(), begun.clone(), wish));
                }
            }
        }
    };
    ticker.rest().await;
    let Some(outcome) = &ended.outcome else {
        desk.screen.remark(&format!("offshoot: {}", task::digest(&ended, desk.screen.err)));
        return Ok(Exit::NeedsInput);
    };
    match (desk.screen.form, &outcome.value) {
        (Form::Json, _) => desk.screen.json(&ended)?,
        (Form::People, Some(answer)) => desk.screen.say(&said(answer, desk.screen))?,
        (Form::People, None) => {
            let how = text::line(&task::ending(outcome));
            let handle = text::line(&ended.handle);
            desk.screen.remark(&format!("offshoot: {handle} {}: {how}", ended.state.word()));
        }
    }
    let exit = match (ended.state, interrupts.wish()) {
        (State::Cancelled, Wish::Stop | Wish::StopNow) => Exit::Interrupted,
        (state, _) => Exit::of_state(state),
    };
    desk.acknowledge(vec![ended.id]).await;
    Ok(exit)
}

/// The answer: as it is in a pipe, and safely on a terminal.
fn said(answer: &serde_json::Value, screen: Screen) -> String {
    let said = match answer {
        serde_json::Value::String(said) => said.clone(),
        other => other.to_string(),
    };
    let said = if screen.width.is_some() { text::lines(&said) } else { said };
    if said.ends_with('\n') { said } else { said + "\n" }
}

async fn stop(desk: Desk, task: Task, wish: Wish) {
    let (said, grace_ms) = match wish {
        Wish::StopNow => ("stopping it at once; Ctrl-C again leaves it", Some(0)),
        _ => ("asked it to stop; Ctrl-C again stops it at once", None),
    };
    desk.screen.remark(&format!("\noffshoot: {}: {said}", text::line(&task.handle)));
    let stop = Stop { reason: Some("Ctrl-C".to_owned()), grace_ms };
    let cancel = Request::Cancel { task: desk.named(&task.id), stop };
    if let Err(error) = desk.client.ask(&cancel).await {
        desk.screen.remark(&format!("offshoot: it could not be asked to stop: {error}"));
    }
}
