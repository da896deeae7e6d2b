//! The context of a command: its client, its session and its screen.

use std::sync::Arc;

use offshoot_client::wire::{
    OnApproval, OnMissing, Reply, Request, Task, TaskName, WaitMode, WaitResult, WaitTasks,
};
use offshoot_client::{Client, Error};
use serde::Serialize;

use super::error::CliError;
use super::globals::{Globals, SessionSource};
use super::run::keys;
use super::show::{Format, Screen, text};

/// The client, the session and the screen that a command works with.
#[derive(Debug, Clone)]
pub(crate) struct CommandContext {
    /// The connection to the daemon.
    pub(crate) client: Arc<Client>,
    /// The session in which handles are looked up.
    pub(crate) session: String,
    /// How the session was chosen.
    pub(crate) session_source: SessionSource,
    /// Where results and errors are printed.
    pub(crate) screen: Screen,
    typed: Vec<String>,
}

impl CommandContext {
    /// Makes a context whose client starts a daemon if none runs.
    pub(crate) fn new(globals: &Globals, screen: Screen) -> Result<Self, CliError> {
        Self::with(globals.client()?, globals, screen)
    }

    /// Makes a context with this client.
    pub(crate) fn with(
        client: Client,
        globals: &Globals,
        screen: Screen,
    ) -> Result<Self, CliError> {
        let (session, session_source) = globals.session()?;
        Ok(Self {
            client: Arc::new(client),
            session,
            session_source,
            screen,
            typed: globals.typed(),
        })
    }

    /// Refers to a task by the name typed on the command line.
    pub(crate) fn named(&self, task: &str) -> TaskName {
        TaskName { session: self.session.clone(), task: task.to_owned() }
    }

    /// Sends a request and returns the reply.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Reply, CliError> {
        Ok(self.client.ask(request).await?)
    }

    /// Reads the record of a task.
    pub(crate) async fn show(&self, task: &str) -> Result<Task, CliError> {
        task_reply(self.ask(&Request::Show(self.named(task))).await?)
    }

    /// Waits until a task has ended or asks a question, and returns its record.
    ///
    /// An approval request does not end the wait.
    pub(crate) async fn end_of(&self, task: String) -> Result<Task, CliError> {
        let request = Request::Wait(WaitTasks {
            session: self.session.clone(),
            tasks: vec![task],
            mode: WaitMode::All,
            timeout_ms: None,
            keys: keys(),
            on_missing: OnMissing::Wait,
            on_approval: OnApproval::Wait,
        });
        match wait_reply(self.ask(&request).await?)?.pop() {
            Some(waited) => Ok(waited.task),
            None => Err(Error::WrongAnswer.into()),
        }
    }

    /// Marks the results of these tasks as read.
    ///
    /// If that fails, the results are delivered once more.
    pub(crate) async fn acknowledge(&self, tasks: Vec<String>) {
        if tasks.is_empty() {
            return;
        }
        if let Err(CliError::Report { fault, .. }) = self.ask(&Request::Ack { tasks }).await {
            self.screen.remark(&format!("offshoot: cannot mark the result as read: {fault}"));
        }
    }

    /// Prints the result of a command as text or JSON.
    pub(crate) fn answer<T: Serialize>(
        &self,
        answer: &T,
        people: impl FnOnce(&T) -> String,
    ) -> Result<(), CliError> {
        match self.screen.format {
            Format::Text => self.screen.say(&people(answer)),
            Format::Json => self.screen.json(answer),
        }
    }

    /// Prints the result of a command that has already taken effect.
    pub(crate) fn report<T: Serialize>(
        &self,
        done: &T,
        people: impl FnOnce(&T) -> String,
    ) -> Result<(), CliError> {
        self.answer(done, people)
            .map_err(|error| error.hint("the command has taken effect; only its output failed"))
    }

    /// Formats a command line that names this session.
    pub(crate) fn command_in(&self, session: &str, command: &str, rest: &[&str]) -> String {
        match self.typed.iter().any(|word| word == "--session") {
            true => self.command(command, rest),
            false => self.command(command, &[&["--session", session], rest].concat()),
        }
    }

    /// Formats a command line that is the same in every session.
    pub(crate) fn command_anywhere(&self, command: &str, rest: &[&str]) -> String {
        let mut cx = self.clone();
        if let Some(at) = cx.typed.iter().position(|word| word == "--session") {
            cx.typed.drain(at..(at + 2).min(cx.typed.len()));
        }
        cx.command(command, rest)
    }

    /// Formats a command line with the data directory and session of this one.
    pub(crate) fn command(&self, command: &str, rest: &[&str]) -> String {
        let mut line = format!("offshoot {command}");
        for word in self.typed.iter().map(String::as_str).chain(rest.iter().copied()) {
            line.push(' ');
            line.push_str(&text::quoted(word));
        }
        line
    }
}

/// Takes the task out of a reply.
pub(crate) fn task_reply(reply: Reply) -> Result<Task, CliError> {
    match reply {
        Reply::Task(task) => Ok(*task),
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// The reply to a run request.
#[derive(Debug)]
pub(crate) struct StartedRun {
    /// The agent's task.
    pub(crate) task: Task,
    /// The message that carries the prompt, if the agent was already running.
    pub(crate) message: Option<String>,
    /// The number of blocks in the conversation before the prompt.
    pub(crate) before: u64,
    /// Parts of the profile or configuration that are ignored.
    pub(crate) notes: Vec<String>,
}

/// Takes the started run out of a reply.
pub(crate) fn run_reply(reply: Reply) -> Result<StartedRun, CliError> {
    match reply {
        Reply::Run { task, message, before, notes } => {
            Ok(StartedRun { task: *task, message, before, notes })
        }
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// Takes the results of a wait out of a reply.
pub(crate) fn wait_reply(reply: Reply) -> Result<Vec<WaitResult>, CliError> {
    match reply {
        Reply::Waited { tasks } => Ok(tasks),
        _ => Err(Error::WrongAnswer.into()),
    }
}
