//! `offshoot spawn`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use offshoot_client::Error;
use offshoot_client::wire::{self, Attachment, Code, Named, Request, Restarting, Sealed, Task};

use super::desk::{Desk, task_of};
use super::exit::Exit;
use super::globals::{AMBIENT, Chosen, Globals, ambient};
use super::show::{Form, Screen, text};
use super::trouble::Trouble;
use super::{completions, duration};

mod attached;
mod feed;

/// What says that there is no parent.
const NO_PARENT: &str = "none";

/// Send a command off
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot spawn -- cargo test                        # as if it ran here
  offshoot spawn --detach --name build -- make -j4    # prints the handle
  offshoot spawn --timeout 10m --env CI=1 -- ./check
  offshoot spawn --detach --restart on-crash -- rsync -a here/ there/

Without --detach it stays, passes on what the command writes, byte for byte,
and exits with its code. Ctrl-C asks the command to stop, a second one stops it
at once. Whatever else ends `spawn`, such as a closed terminal, leaves the
command alone.

The input of a command is what it is sent with `tasks send`, until `tasks send
--eof`; with --stdin it is ours. A command that reads its input waits for it.

Inside a command that Offshoot runs, what is spawned is a child of that command,
and is stopped with it; --parent none makes it stand by itself.")]
pub(crate) struct Spawn {
    /// What to call it [default: command-<n>]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The task that owns it, or `none`
    #[arg(long, value_name = "TASK", add = completions::live_handles())]
    parent: Option<String>,
    /// Do not stay: print the handle
    #[arg(short, long)]
    detach: bool,
    /// How long it may run, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    timeout: Option<Duration>,
    /// How long it may take to stop before it is ended by force
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    grace: Option<Duration>,
    /// Set a variable, never shown; KEY alone takes its value from here
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = variable)]
    env: Vec<Variable>,
    /// Where it runs [default: here]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Whether it is started again if the daemon dies: it may run twice
    #[arg(long, value_name = "WHEN", default_value = "never")]
    restart: Restart,
    /// Pass our standard input on, as text, line by line
    #[arg(long, conflicts_with = "detach")]
    stdin: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Restart {
    Never,
    OnCrash,
}

/// A variable, with its value or the wish for the one that is set here.
#[derive(Debug, Clone)]
struct Variable {
    key: String,
    value: Option<String>,
}

fn variable(text: &str) -> Result<Variable, String> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (text, None),
    };
    match key {
        "" => Err("it has no name; write KEY=VALUE, or KEY for the value it has here".to_owned()),
        key => Ok(Variable { key: key.to_owned(), value }),
    }
}

impl Spawn {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let mut desk = Desk::new(globals, screen)?;
        let parent = self.parent(&mut desk).await?;
        let stays = !self.detach && screen.form == Form::People;
        let attachment = if stays { Attachment::Attached } else { Attachment::Detached };
        let spawn = self.request(&desk, parent, attachment)?;
        if !self.detach {
            return attached::run(desk, spawn, self.input()).await;
        }
        let task = task_of(desk.ask(&Request::Spawn(Box::new(spawn))).await?)?;
        desk.answer(&task, |task| format!("{}\n", text::line(&task.handle)))?;
        desk.screen.tell(&how_to_follow(&desk, &task));
        Ok(Exit::Done)
    }

    fn input(&self) -> feed::Input {
        if self.stdin { feed::Input::PassedOn } else { feed::Input::LeftAlone }
    }

    fn request(
        &self,
        desk: &Desk,
        parent: Option<String>,
        attachment: Attachment,
    ) -> Result<wire::Spawn, Trouble> {
        Ok(wire::Spawn {
            session: desk.session.clone(),
            name: self.name.clone(),
            parent,
            argv: self.command.clone(),
            cwd: self.folder()?,
            env: self.variables()?,
            surroundings: surroundings(&desk.screen),
            timeout_ms: self.timeout.map(duration::millis),
            grace_ms: self.grace.map(duration::millis),
            restart: match self.restart {
                Restart::Never => Restarting::Never,
                Restart::OnCrash => Restarting::OnCrash,
            },
            key: uuid::Uuid::new_v4().to_string(),
            attachment,
        })
    }

    /// The parent that was named, else the task inside of which this runs, if
    /// it is a live one of this data folder and session.
    async fn parent(&self, desk: &mut Desk) -> Result<Option<String>, Trouble> {
        match self.parent.as_deref() {
            Some(NO_PARENT) => return Ok(None),
            Some(parent) => return Ok(Some(parent.to_owned())),
            None => {}
        }
        let Some(ambient) = ambient() else { return Ok(None) };
        let task = Named { session: desk.session.clone(), task: ambient };
        let task = match desk.client.ask(&Request::Show(task)).await {
            Ok(reply) => task_of(reply)?,
            // It belongs to another data folder, or is no task at all.
            Err(Error::Refused(fault)) if is_unknown(fault.code) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if task.state.is_terminal() {
            return Ok(None);
        }
        if task.session != desk.session {
            if desk.chosen == Chosen::Here {
                return Ok(None);
            }
            desk.session.clone_from(&task.session);
        }
        Ok(Some(task.id))
    }

    fn folder(&self) -> Result<String, Trouble> {
        let folder = match &self.cwd {
            Some(folder) => std::path::absolute(folder),
            None => std::env::current_dir(),
        };
        let folder = folder.map_err(|error| {
            Trouble::usage(format!("the present folder is unknown: {error}"))
                .hint("name a folder with --cwd")
        })?;
        if !folder.is_dir() {
            return Err(Trouble::usage(format!("{} is not a folder", folder.display()))
                .hint("name another one with --cwd"));
        }
        folder.into_os_string().into_string().map_err(|folder| {
            let folder = folder.to_string_lossy();
            Trouble::usage(format!("the path of the folder {folder} is not UTF-8"))
                .hint("name another one with --cwd")
        })
    }

    fn variables(&self) -> Result<Sealed, Trouble> {
        let mut variables = BTreeMap::new();
        for Variable { key, value } in &self.env {
            let value = match value {
                Some(value) => value.clone(),
                None => std::env::var(key).map_err(|error| {
                    Trouble::usage(format!("--env {key}: {error}"))
                        .hint(format!("write --env {key}=VALUE"))
                })?,
            };
            variables.insert(key.clone(), value);
        }
        Ok(Sealed(variables))
    }
}

fn is_unknown(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::BadName | Code::BadRequest)
}

/// Our own environment. What is not text cannot be sent, and is named.
fn surroundings(screen: &Screen) -> Sealed {
    let mut kept = BTreeMap::new();
    for (key, value) in std::env::vars_os() {
        match (key.into_string(), value.into_string()) {
            (Ok(key), _) if key == AMBIENT => {}
            (Ok(key), Ok(value)) => {
                kept.insert(key, value);
            }
            (key, _) => {
                let key = key.unwrap_or_else(|key| key.to_string_lossy().into_owned());
                screen.remark(&format!(
                    "offshoot: the variable {} is not UTF-8 and is not passed on",
                    text::line(&key)
                ));
            }
        }
    }
    Sealed(kept)
}

fn how_to_follow(desk: &Desk, task: &Task) -> String {
    format!("follow it with: {}", desk.command("tasks tail", &["-f", &task.handle]))
}
