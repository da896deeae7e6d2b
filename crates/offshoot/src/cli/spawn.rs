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

/// Run a command as a background task
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot spawn -- cargo test                        # as if it ran here
  offshoot spawn --detach --name build -- make -j4    # prints the handle
  offshoot spawn --timeout 10m --env CI=1 -- ./check
  offshoot spawn --detach --restart on-crash -- rsync -a here/ there/
  tar c src | offshoot spawn -- ssh host tar x        # part of a pipeline

Without --detach, `spawn` waits for the command: it passes on the output byte
for byte, and exits with the command's exit code. Ctrl-C stops the command; a
second Ctrl-C stops it at once. If `spawn` ends in another way, for example
because the terminal is closed, the command keeps running.

Input: if the standard input of `spawn` is not a terminal, the command reads it
byte for byte. It is not stored, and ends when `spawn` ends. Such a command
takes no messages. In a `while read` loop use --no-stdin, or `spawn` reads the
loop's input. Any other command reads the messages of `offshoot tasks send`,
until `tasks send --eof`. --restart on-crash needs this kind of input, because a
second attempt could not read a pipe again.

Background processes of a command are stopped when the command ends. Run a
server as the command itself, in the foreground; in a script, use `exec` or
`wait`.

Children: a `spawn` inside a command of Offshoot makes a child task of that
command. It is stopped with its parent; --no-parent makes it independent. A
command with live children ends when they have ended.")]
pub(crate) struct Spawn {
    /// Name of the task [default: command-<n>]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Parent task; the command is stopped with it
    #[arg(long, value_name = "TASK", add = completions::live_handles())]
    parent: Option<String>,
    /// Make the task independent of the task that runs this command
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
    /// Run the command in the background, and print its handle
    #[arg(short, long)]
    detach: bool,
    /// Time limit, such as 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    #[arg(allow_hyphen_values = true)]
    timeout: Option<Duration>,
    /// Time between TERM and KILL when the command is stopped
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    #[arg(allow_hyphen_values = true)]
    grace: Option<Duration>,
    /// Set a variable, or pass on KEY; the value is never shown
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = variable::read)]
    env: Vec<Variable>,
    /// Working directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Start the command again if the daemon crashes; it may run twice
    #[arg(long, value_name = "WHEN", default_value = "never")]
    restart: Restart,
    /// Pass on the standard input even if it is a terminal
    #[arg(long, conflicts_with = "no_stdin")]
    stdin: bool,
    /// Do not read the standard input; the command reads messages
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
            // The caller would not learn of the command.
            Err(CliError::ReaderGone) => {
                cx.screen.remark(&format!("offshoot: {}", goes_on(&cx, &task)));
                return Ok(Exit::ReaderGone);
            }
            Err(error) => return Err(error.hint(goes_on(&cx, &task))),
        }
        Ok(Exit::Done)
    }

    /// Adds a hint if the parent does not exist.
    fn parent_hint(&self, error: CliError) -> CliError {
        match (&error, &self.parent) {
            (CliError::Report { fault, .. }, Some(parent))
                if fault.code == Code::NotFound && parent == "none" =>
            {
                error.or_rather("--no-parent makes the task independent")
            }
            _ => error,
        }
    }

    /// Chooses the input of the command: the standard input of this program if
    /// requested or in a pipeline, else messages.
    fn input(&self) -> Result<Stdin, CliError> {
        if self.stdin && self.detach {
            return Err(CliError::usage("--stdin and --detach cannot be used together")
                .hint("omit one of them; a detached command reads the messages of `tasks send`"));
        }
        let once = matches!(self.restart, Restart::Never);
        if self.stdin && !once {
            return Err(CliError::usage(
                "--stdin cannot be used with --restart on-crash: a second attempt would miss the \
                 input",
            )
            .hint("omit one of them; without --stdin it reads the messages of `tasks send`"));
        }
        if !(once || self.no_stdin || self.detach) && is_input(&std::io::stdin()) {
            return Err(CliError::usage(
                "a pipe cannot be used with --restart on-crash: a second attempt would miss the \
                 input",
            )
            .hint("use --no-stdin; the command then reads the messages of `tasks send`"));
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

    /// The parent named by --parent, else the live task that this program runs in.
    ///
    /// A task of another data directory or session is no parent.
    async fn parent(&self, cx: &mut CommandContext) -> Result<Option<String>, CliError> {
        if self.no_parent || self.parent.is_some() {
            return Ok(self.parent.clone());
        }
        let Some(ambient) = ambient() else { return Ok(None) };
        let task = TaskName { session: cx.session.clone(), task: ambient };
        let task = match cx.client.ask(&Request::Show(task)).await {
            Ok(reply) => task_reply(reply)?,
            // The task belongs to another data directory, or does not exist.
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
            CliError::usage(format!("the current directory is unknown: {error}"))
                .hint("choose a working directory with --cwd")
        })?;
        if !folder.is_dir() {
            return Err(CliError::usage(format!("{} is not a directory", folder.display()))
                .hint("choose another working directory with --cwd"));
        }
        folder.into_os_string().into_string().map_err(|folder| {
            let folder = folder.to_string_lossy();
            CliError::usage(format!("the path of the directory {folder} is not UTF-8"))
                .hint("choose another working directory with --cwd")
        })
    }
}

/// Whether this stream is a pipe or a file, and so is meant as input.
fn is_input<S: AsFd>(stream: &S) -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

fn is_unknown(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::BadName | Code::BadRequest)
}

/// Collects the environment of this program.
///
/// A variable that is not UTF-8 cannot be sent; the user is told its name.
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

/// The file mode creation mask of this process. Reading it means setting it.
fn own_umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    rustix::process::umask(mask);
    mask.as_raw_mode()
}

fn goes_on(cx: &CommandContext, task: &Task) -> String {
    let Task { handle, id, .. } = task;
    let see = cx.command("tasks show", &[id]);
    format!("the command was started as {handle} ({id}); see {see}")
}

fn how_to_follow(cx: &CommandContext, task: &Task) -> String {
    format!("follow it with: {}", cx.command("tasks tail", &["-f", &task.handle]))
}
