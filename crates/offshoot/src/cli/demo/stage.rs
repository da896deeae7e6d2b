//! The stage of the demo: its data directory, daemons and tasks.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use offshoot_client::Error;
use offshoot_client::wire::{
    Attachment, CancelOptions, Code, Continuation, Reply, Request, Restart, Sealed, SendMessage,
    Spawn, Status, Stdin, Task, WireError,
};
use rustix::process::{Pid, Signal, kill_process};

use super::board::Board;
use crate::cli::context::{CommandContext, task_reply};
use crate::cli::daemon;
use crate::cli::error::CliError;
use crate::cli::globals::Globals;
use crate::cli::show::{Format, Part, Screen, text};

/// The idle time of a daemon of the demo, in case the demo is killed.
const IDLE: &str = "5s";

/// The time limit of a command that waits for a message, as typed and in
/// milliseconds.
const WAITS: (&str, u64) = ("1m", 60_000);

/// The pause after a kill, so that a viewer sees it.
const SEEN: Duration = Duration::from_secs(1);

/// A temporary data directory, removed on drop.
#[derive(Debug)]
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Result<Self, CliError> {
        let name = format!("offshoot-demo-{}", uuid::Uuid::new_v4().simple());
        let temporary = std::env::temp_dir();
        let path = temporary.join(name);
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => {
                let said = format!("cannot create a directory in {}", temporary.display());
                let fault = WireError {
                    causes: vec![error.to_string()],
                    ..WireError::new(Code::Other, said)
                };
                Err(CliError::from(fault).hint("set TMPDIR to an existing directory of yours"))
            }
        }
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // It is below the system's temporary directory.
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// The state of the demo.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) cx: CommandContext,
    pub(super) board: Board,
    /// The spawned commands.
    pub(super) cast: Vec<Task>,
    /// The process ids of the daemons, in order.
    daemons: Vec<u32>,
    folder: TempDir,
}

/// A command to spawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct DemoCommand<'a> {
    pub(super) name: &'a str,
    pub(super) script: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) restart: Restart,
    pub(super) ending: StopCondition,
}

/// How a command ends without a cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopCondition {
    /// By itself.
    Itself,
    /// By its timeout.
    TimeUp,
}

impl<'a> DemoCommand<'a> {
    /// A script with a name.
    pub(super) fn new(name: &'a str, script: &'a str) -> Self {
        let (restart, ending) = (Restart::Never, StopCondition::Itself);
        Self { name, script, parent: None, restart, ending }
    }

    /// Makes it a child of a task.
    pub(super) fn under(self, parent: &'a str) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// Makes it start again if the daemon dies.
    pub(super) fn restarting(self) -> Self {
        Self { restart: Restart::OnCrash, ..self }
    }

    /// Gives it a time limit, because it waits for a message.
    pub(super) fn waiting(self) -> Self {
        Self { ending: StopCondition::TimeUp, ..self }
    }
}

impl Stage {
    pub(super) fn set(screen: Screen) -> Result<Self, CliError> {
        let folder = TempDir::new()?;
        let globals = Globals::of(Some(folder.0.clone()), None);
        let client = globals.client_starting(&["--idle", IDLE])?;
        let cx = CommandContext::with(client, &globals, screen)?;
        let board = Board::new(screen);
        Ok(Self { cx, board, cast: Vec::new(), daemons: Vec::new(), folder })
    }

    /// The data directory, in which the commands run.
    pub(super) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// The screen of the demo.
    pub(super) fn screen(&self) -> Screen {
        self.cx.screen
    }

    /// Prints the heading of an act.
    pub(super) fn heading(&mut self, number: u32, title: &str) -> Result<(), CliError> {
        let screen = self.cx.screen;
        match screen.format {
            Format::Text => {
                let title = wrapped(title, screen);
                screen.say(&format!("\n{number}  {}\n", screen.out.paint(Part::Name, title)))
            }
            Format::Json => screen.json_line(&serde_json::json!({ "act": number, "title": title })),
        }
    }

    /// Prints a remark.
    pub(super) fn say(&mut self, said: &str) -> Result<(), CliError> {
        match self.cx.screen.format {
            Format::Text => {
                let said = wrapped(&text::line(said), self.cx.screen);
                self.cx.screen.say(&format!("   {said}\n"))
            }
            Format::Json => self.cx.screen.json_line(&serde_json::json!({ "said": said })),
        }
    }

    /// Prints the command that corresponds to the next request.
    pub(super) fn typed(&mut self, command: &str) -> Result<(), CliError> {
        let screen = self.cx.screen;
        if screen.format == Format::Json {
            return screen.json_line(&serde_json::json!({ "typed": command }));
        }
        let line = text::cut(&text::line(command), screen.width.unwrap_or(100).saturating_sub(6));
        screen.say(&format!("   {}\n", screen.out.paint(Part::Faint, format!("$ {line}"))))
    }

    /// Spawns a command.
    pub(super) async fn spawn(&mut self, command: DemoCommand<'_>) -> Result<(), CliError> {
        let mut typed = format!("offshoot spawn --detach --name {}", command.name);
        if let Some(parent) = command.parent {
            typed.push_str(&format!(" --parent {parent}"));
        }
        if command.restart == Restart::OnCrash {
            typed.push_str(" --restart on-crash");
        }
        let timeout_ms = match command.ending {
            StopCondition::Itself => None,
            StopCondition::TimeUp => {
                typed.push_str(&format!(" --timeout {}", WAITS.0));
                Some(WAITS.1)
            }
        };
        self.typed(&format!("{typed} -- sh -c {}", text::quoted(command.script)))?;
        let request = Request::Spawn(Box::new(Spawn {
            session: self.cx.session.clone(),
            name: Some(command.name.to_owned()),
            parent: command.parent.map(str::to_owned),
            argv: ["sh", "-c", command.script].map(str::to_owned).to_vec(),
            cwd: self.folder().to_string_lossy().into_owned(),
            env: Sealed::default(),
            surroundings: Sealed(std::env::vars().collect()),
            umask: None,
            timeout_ms,
            grace_ms: None,
            restart: command.restart,
            key: uuid::Uuid::new_v4().to_string(),
            attachment: Attachment::Detached,
            stdin: Stdin::Messages,
        }));
        self.cast.push(task_reply(self.cx.ask(&request).await?)?);
        Ok(())
    }

    /// Sends a message to a task.
    pub(super) async fn send(&mut self, to: &str, text: &str) -> Result<(), CliError> {
        self.typed(&format!("offshoot tasks send {to} {}", text::quoted(text)))?;
        let key = uuid::Uuid::new_v4().to_string();
        let (to, text) = (self.cx.named(to), text.to_owned());
        let keys = Sealed::default();
        let message = SendMessage { to, text, sequel: Continuation::More, key, keys };
        self.cx.ask(&Request::Send(message)).await?;
        Ok(())
    }

    /// Stops a task and the tasks below it, and returns how many were reached.
    pub(super) async fn cancel(&mut self, task: &str, reason: &str) -> Result<usize, CliError> {
        self.typed(&format!("offshoot tasks cancel {task} --grace 1s --reason '{reason}'"))?;
        let stop = CancelOptions { reason: Some(reason.to_owned()), grace_ms: Some(1_000) };
        let request = Request::Cancel { task: self.cx.named(task), stop };
        match self.cx.ask(&request).await? {
            Reply::Reached { tasks } => Ok(tasks),
            _ => Err(Error::WrongAnswer.into()),
        }
    }

    /// Reads the status of the daemon, and remembers its process id.
    pub(super) async fn status(&mut self) -> Result<Status, CliError> {
        match self.cx.ask(&Request::Status).await? {
            Reply::Status(status) => {
                if self.daemons.last() != Some(&status.pid) {
                    self.daemons.push(status.pid);
                }
                Ok(*status)
            }
            _ => Err(Error::WrongAnswer.into()),
        }
    }

    /// The process ids of the daemons, in order.
    pub(super) fn daemons(&self) -> &[u32] {
        &self.daemons
    }

    /// The process id of a daemon by its number, or zero.
    pub(super) fn daemon(&self, number: usize) -> u32 {
        self.daemons.get(number).copied().unwrap_or_default()
    }

    /// Kills the daemon, and waits until the next one answers.
    pub(super) async fn kill(&mut self, remark: &str) -> Result<(), CliError> {
        let pid = self.status().await?.pid;
        self.board.close();
        let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let Some(process) = process else {
            return Err(CliError::failed("the daemon has no process id"));
        };
        kill_process(process, Signal::KILL).map_err(|error| CliError::other(&error))?;
        self.typed(&format!("kill -9 {pid}    # {remark}"))?;
        if self.cx.screen.width.is_some() {
            tokio::time::sleep(SEEN).await;
        }
        let began = Instant::now();
        let next = self.status().await?.pid;
        let took = began.elapsed().as_millis();
        self.say(&format!("The next command started daemon {next}; it answered after {took} ms."))
    }

    /// Ends the daemon and all tasks. Dropping the stage removes the directory.
    pub(super) async fn shut_down(&mut self) {
        self.board.close();
        // A daemon that is just starting must be stopped too. So this request
        // starts one if none answers.
        let stop = CancelOptions { reason: Some("the demo is over".to_owned()), grace_ms: Some(0) };
        let cancel = Request::CancelSession { session: self.cx.session.clone(), stop };
        // Without a session there is nothing to stop.
        self.cx.client.ask(&cancel).await.ok();
        if let Ok(connection) = self.cx.client.connect().await {
            // A task that does not stop has its own time limit.
            daemon::quit(connection, self.cx.client.dir(), self.cx.screen).await.ok();
        }
    }
}

/// Wraps an indented text to the width of the terminal.
fn wrapped(said: &str, screen: Screen) -> String {
    match screen.width {
        Some(columns) => text::wrapped(said, columns, "   "),
        None => said.to_owned(),
    }
}
