//! `offshoot completions`, and the candidates when a shell completes a line.
//!
//! The shell asks the program itself, so candidates are never out of date.
//! Completion starts no daemon: without one there are no handles to offer.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Elvish, EnvCompleter, Powershell, Shells};
use offshoot_client::wire::{
    ApprovalRequest, ListApprovals, ListTasks, Reply, Request, Scope, SessionInfo, Task,
};

use super::context::CommandContext;
use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::{Format, Screen, approval, task, text};
use shell::CompletionShell;

mod shell;
mod words;

/// The variable that marks a completion request of a shell.
const VARIABLE: &str = "OFFSHOOT_COMPLETE";

/// The maximum number of candidates.
const OFFERED: usize = 200;

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  echo 'source <(offshoot completions bash)' >> ~/.bashrc
  echo 'source <(offshoot completions zsh)' >> ~/.zshrc
  offshoot completions fish > ~/.config/fish/completions/offshoot.fish")]
pub(crate) struct Completions {
    /// Name of the shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl Completions {
    pub(crate) fn run(self, screen: Screen) -> Result<Exit, CliError> {
        let shell: &dyn EnvCompleter = match self.shell {
            Shell::Bash => &CompletionShell::Bash,
            Shell::Elvish => &Elvish,
            Shell::Fish => &CompletionShell::Fish,
            Shell::Powershell => &Powershell,
            Shell::Zsh => &CompletionShell::Zsh,
        };
        let mut script = Vec::new();
        let written =
            shell.write_registration(VARIABLE, "offshoot", "offshoot", "offshoot", &mut script);
        written.map_err(|error| CliError::other(&error))?;
        let script = String::from_utf8_lossy(&script);
        match screen.format {
            Format::Text => screen.say(&script)?,
            Format::Json => {
                let answer = serde_json::json!({ "shell": shell.name(), "script": script });
                screen.json(&answer)?;
            }
        }
        Ok(Exit::Done)
    }
}

/// Answers a completion request and exits, if there is one.
pub(crate) fn answer_shell<C: CommandFactory>() {
    let shells = Shells(&[
        &CompletionShell::Bash,
        &Elvish,
        &CompletionShell::Fish,
        &Powershell,
        &CompletionShell::Zsh,
    ]);
    let answer = clap_complete::CompleteEnv::with_factory(C::command).var(VARIABLE);
    answer.shells(shells).complete();
}

/// Completes handles of tasks.
pub(crate) fn handles() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| offer_tasks(typed, Scope::All))
}

/// Completes handles of tasks that have not ended.
pub(crate) fn live_handles() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| offer_tasks(typed, Scope::Live))
}

/// Completes ids of approval requests.
pub(crate) fn approvals() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let asked = asked(async |cx| {
            let list =
                ListApprovals { session: None, below: Vec::new(), cursor: None, limit: OFFERED };
            match cx.ask(&Request::Approvals(list)).await {
                Ok(Reply::Approvals(page)) => page.approvals,
                _ => Vec::new(),
            }
        });
        let named = |one: ApprovalRequest| {
            let help = format!("{}: {} {}", one.agent, one.tool, approval::in_short(&one));
            (one.id, text::line(&help))
        };
        offer(typed, asked.into_iter().map(named))
    })
}

/// Completes names of profiles.
pub(crate) fn profiles() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let found = asked(async |cx| {
            let Ok(folder) = super::directory::resolve(None) else { return Vec::new() };
            super::agents::profiles(&cx, folder).await.map_or(Vec::new(), |all| all.profiles)
        });
        offer(typed, found.into_iter().map(|one| (one.name, text::line(&one.description))))
    })
}

/// Completes names of sessions.
pub(crate) fn session_names() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let sessions = asked(async |cx| match cx.ask(&all_sessions()).await {
            Ok(Reply::Sessions(page)) => page.sessions,
            _ => Vec::new(),
        });
        let named = |session: SessionInfo| {
            let help = format!("{} live, {} finished", session.live, session.finished);
            (session.name, help)
        };
        offer(typed, sessions.into_iter().map(named))
    })
}

fn all_sessions() -> Request {
    Request::Sessions { cursor: None, limit: OFFERED }
}

fn offer_tasks(typed: &OsStr, scope: Scope) -> Vec<CompletionCandidate> {
    let tasks = asked(async |cx| {
        let session = Some(cx.session.clone());
        let list = ListTasks { session, scope, states: Vec::new(), cursor: None, limit: OFFERED };
        match cx.ask(&Request::List(list)).await {
            Ok(Reply::Tasks(page)) => page.tasks,
            _ => Vec::new(),
        }
    });
    let named = |found: Task| {
        let help = format!("{}: {}", found.state.word(), task::executes(&found));
        (found.handle, help)
    };
    offer(typed, tasks.into_iter().map(named))
}

fn offer(typed: &OsStr, found: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let fits = found.filter(|(name, _)| name.starts_with(typed) && text::line(name) == *name);
    fits.map(|(name, help)| CompletionCandidate::new(name).help(Some(text::cut(&help, 60).into())))
        .collect()
}

/// Asks the running daemon; the default value without one.
fn asked<T: Default>(ask: impl AsyncFnOnce(CommandContext) -> T) -> T {
    let globals = typed_globals(&shell::words());
    let Ok(client) = globals.client_of_running() else { return T::default() };
    let screen = Screen::new(Format::Text);
    let Ok(cx) = CommandContext::with(client, &globals, screen) else { return T::default() };
    super::block_on(async { Ok(ask(cx).await) }).unwrap_or_default()
}

/// The data directory and session of the line that is being typed.
fn typed_globals(words: &[OsString]) -> Globals {
    // The words after `--` are the command to spawn.
    let ours = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let words = &words[..ours];
    let value = |name: &str| {
        let glued = format!("{name}=");
        words.iter().enumerate().find_map(|(at, word)| match word.to_str() {
            Some(word) if word == name => words.get(at + 1).cloned(),
            Some(word) => word.strip_prefix(&glued).map(OsString::from),
            None => None,
        })
    };
    let session = value("--session").and_then(|session| session.into_string().ok());
    Globals::of(value("--data").map(PathBuf::from), session)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typed_line_selects_the_session() {
        let line = "offshoot tasks --session work --data=/d show b -- --session theirs";
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let globals = typed_globals(&words);
        assert_eq!(globals.session().unwrap().0, "work");
        assert_eq!(globals.typed(), ["--data", "/d", "--session", "work"]);
    }

    #[test]
    fn candidates_start_with_the_typed_text_and_are_safe() {
        let found = ["build-1", "build-2", "test-1", "build\u{1b}[2J"];
        let found = found.into_iter().map(|name| (name.to_owned(), "help".to_owned()));
        let offered = offer(OsStr::new("bu"), found);
        let values: Vec<&OsStr> = offered.iter().map(CompletionCandidate::get_value).collect();
        assert_eq!(values, ["build-1", "build-2"]);
    }
}
