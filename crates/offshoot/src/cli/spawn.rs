//! `offshoot spawn`

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use offshoot_client::Error;
use offshoot_client::wire::{self, Attachment, Code, Request, Sealed, Stdin, Task, TaskName};

use super::context::{CommandContext, task_reply};
use super::error::CliError;
use super::exit::Exit;
use super::globals::{AMBIENT, Globals, SessionSource, ambient};
use super::show::{Format, Screen, text};
use super::{completions, duration};
use variable::Variable;

mod attached;
mod children;
mod feed;
mod variable;

/// Send a command off
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot spawn -- cargo test                        # as if it ran here
  offshoot spawn --detach --name build -- make -j4    # prints the handle
  offshoot spawn --timeout 10m --env CI=1 -- ./check
  offshoot spawn --detach --restart on-crash -- rsync -a here/ there/
  tar c src | offshoot spawn -- ssh host tar x        # part of a pipeline

Without --detach it stays, passes on what the command writes, byte for byte,
and exits with its code. Ctrl-C asks the command to stop, a second one stops it
at once. Whatever else ends `spawn`, such as a closed terminal, leaves the
command alone.

If our standard input is not a terminal, it is the command's, byte for byte, and
its end is the end of the command's. That is so when `spawn` is gone, too: then
the command goes on and finds its input ended. Such a command takes no messages,
and nothing of its input is stored. In a `while read` loop use --no-stdin, or
`spawn` reads what the loop should.

Any other command (at a terminal, with --detach or --no-stdin) reads what
`tasks send` writes, until `tasks send --eof`, and waits for it. So does one
with --restart on-crash, which could not be given the same input twice: in a
pipeline it needs --no-stdin.

What a command leaves running in the background is ended when the command ends.
Whatever is to stay, such as a server, is spawned as the command itself, in the
foreground; a script keeps it with `exec`, or waits for it with `wait`.

Inside a command that Offshoot runs, what is spawned is a child of that command,
and is stopped with it; --no-parent makes it stand by itself. A command with
live children ends when they have, and `spawn` stays until then.")]
pub(crate) struct Spawn {
    /// What to call it [default: command-<n>]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The task that owns it, and with which it is stopped
    #[arg(long, value_name = "TASK", add = completions::live_handles())]
    parent: Option<String>,
    /// No task owns it, even inside of a command of Offshoot
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
    /// Do not stay: print the handle
    #[arg(short, long)]
    detach: bool,
    /// How long it may run, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    #[arg(allow_hyphen_values = true)]
    timeout: Option<Duration>,
    /// Time it has to stop before it is ended by force
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    #[arg(allow_hyphen_values = true)]
    grace: Option<Duration>,
    /// Set a variable, or pass KEY on as it is; never shown
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = variable::read)]
    env: Vec<Variable>,
    /// Where it runs [default: here]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Start it again if the daemon dies; it may run twice
    #[arg(long, value_name = "WHEN", default_value = "never")]
    restart: Restart,
    /// Pass our standard input on even if it is a terminal
    #[arg(long, conflicts_with = "no_stdin")]
    stdin: bool,
    /// Leave our standard input alone: the command reads messages
    #[arg(long)]
    no_stdin: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Restart {
    Never,
    OnCrash,
}

impl Spawn {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let stdin = self.input()?;
        let mut cx = CommandContext::new(globals, screen)?;
        let parent = self.parent(&mut cx).await?;
        let stays = !self.detach && screen.format == Format::Text;
        let attachment = if stays { Attachment::Attached } else { Attachment::Detached };
        let spawn = wire::Spawn { stdin, ..self.request(&cx, parent, attachment)? };
        if !self.detach {
            let ended = attached::run(cx, spawn).await;
            return ended.map_err(|error| self.parent_hint(error));
        }
        let spawned = cx.ask(&Request::Spawn(Box::new(spawn))).await;
        let task = task_reply(spawned.map_err(|error| self.parent_hint(error))?)?;
        match cx.answer(&task, |task| format!("{}\n", text::line(&task.handle))) {
            Ok(()) => cx.screen.tell(&how_to_follow(&cx, &task)),
            // Whoever sent it off would not know of it.
            Err(CliError::ReaderGone) => {
                cx.screen.remark(&format!("offshoot: {}", goes_on(&cx, &task)));
                return Ok(Exit::ReaderGone);
            }
            Err(error) => return Err(error.hint(goes_on(&cx, &task))),
        }
        Ok(Exit::Done)
    }

    /// What to do about a parent that is none.
    fn parent_hint(&self, error: CliError) -> CliError {
        match (&error, &self.parent) {
            (CliError::Report { fault, .. }, Some(parent))
                if fault.code == Code::NotFound && parent == "none" =>
            {
                error.or_rather("--no-parent makes it stand by itself")
            }
            _ => error,
        }
    }

    /// Where the command's input comes from: from us if that is wanted or, in a
    /// pipeline, may be expected.
    fn input(&self) -> Result<Stdin, CliError> {
        if self.stdin && self.detach {
            return Err(CliError::usage("--stdin needs `spawn` to stay, and --detach lets it go")
                .hint("leave out one of them; a detached command reads what `tasks send` writes"));
        }
        let once = matches!(self.restart, Restart::Never);
        if self.stdin && !once {
            return Err(CliError::usage(
                "--stdin cannot go with --restart on-crash: a second attempt would miss its input",
            )
            .hint("leave out one of them; without --stdin it reads what `tasks send` writes"));
        }
        if !(once || self.no_stdin || self.detach) && is_input(&std::io::stdin()) {
            return Err(CliError::usage(
                "an input cannot go with --restart on-crash: a second attempt would miss it",
            )
            .hint("--no-stdin leaves the input alone; it then reads what `tasks send` writes"));
        }
        let ours = self.stdin
            || !(self.no_stdin || self.detach) && once && !std::io::stdin().is_terminal();
        Ok(if ours { Stdin::Follows } else { Stdin::Messages })
    }

    fn request(
        &self,
        cx: &CommandContext,
        parent: Option<String>,
        attachment: Attachment,
    ) -> Result<wire::Spawn, CliError> {
        Ok(wire::Spawn {
            session: cx.session.clone(),
            name: self.name.clone(),
            parent,
            argv: self.command.clone(),
            cwd: self.folder()?,
            env: variable::sealed(&self.env)?,
            surroundings: surroundings(&cx.screen),
            umask: Some(own_umask()),
            timeout_ms: self.timeout.map(duration::millis),
            grace_ms: self.grace.map(duration::millis),
            restart: match self.restart {
                Restart::Never => wire::Restart::Never,
                Restart::OnCrash => wire::Restart::OnCrash,
            },
            key: uuid::Uuid::new_v4().to_string(),
            attachment,
            stdin: Stdin::Messages,
        })
    }

    /// The parent that was named, else the task inside of which this runs, if
    /// it is a live one of this data folder and session.
    async fn parent(&self, cx: &mut CommandContext) -> Result<Option<String>, CliError> {
        if self.no_parent || self.parent.is_some() {
            return Ok(self.parent.clone());
        }
        let Some(ambient) = ambient() else { return Ok(None) };
        let task = TaskName { session: cx.session.clone(), task: ambient };
        let task = match cx.client.ask(&Request::Show(task)).await {
            Ok(reply) => task_reply(reply)?,
            // It belongs to another data folder, or is no task at all.
            Err(Error::Refused(fault)) if is_unknown(fault.code) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if task.state.is_terminal() {
            return Ok(None);
        }
        if task.session != cx.session {
            if cx.session_source == SessionSource::Argument {
                return Ok(None);
            }
            cx.session.clone_from(&task.session);
        }
        Ok(Some(task.id))
    }

    fn folder(&self) -> Result<String, CliError> {
        let folder = match &self.cwd {
            Some(folder) => std::path::absolute(folder),
            None => std::env::current_dir(),
        };
        let folder = folder.map_err(|error| {
            CliError::usage(format!("the present folder is unknown: {error}"))
                .hint("name a folder with --cwd")
        })?;
        if !folder.is_dir() {
            return Err(CliError::usage(format!("{} is not a folder", folder.display()))
                .hint("name another one with --cwd"));
        }
        folder.into_os_string().into_string().map_err(|folder| {
            let folder = folder.to_string_lossy();
            CliError::usage(format!("the path of the folder {folder} is not UTF-8"))
                .hint("name another one with --cwd")
        })
    }
}

/// Whether this stream is one that somebody means for a command to read.
fn is_input<S: AsFd>(stream: &S) -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
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

/// Which permissions our files do not get. It can only be asked for by setting
/// it.
fn own_umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    rustix::process::umask(mask);
    mask.as_raw_mode()
}

fn goes_on(cx: &CommandContext, task: &Task) -> String {
    let Task { handle, id, .. } = task;
    let see = cx.command("tasks show", &[id]);
    format!("the command was sent off all the same, as {handle} ({id}); see {see}")
}

fn how_to_follow(cx: &CommandContext, task: &Task) -> String {
    format!("follow it with: {}", cx.command("tasks tail", &["-f", &task.handle]))
}
