//! The desk that a command works at: whom it asks, about which session, and
//! where it answers.

use std::sync::Arc;

use offshoot_client::wire::{
    OnApproval, OnMissing, Reply, Request, Task, TaskName, WaitMode, WaitResult, WaitTasks,
};
use offshoot_client::{Client, Error};
use serde::Serialize;

use super::globals::{Chosen, Globals};
use super::run::keys;
use super::show::{Form, Screen, text};
use super::trouble::Trouble;

/// Whom a command asks, about which session, and where it answers.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    /// Whom it asks.
    pub(crate) client: Arc<Client>,
    /// In which session handles mean something.
    pub(crate) session: String,
    /// Who chose the session.
    pub(crate) chosen: Chosen,
    /// Where it answers.
    pub(crate) screen: Screen,
    typed: Vec<String>,
}

impl Desk {
    /// A desk whose daemon is started if it must be.
    pub(crate) fn new(globals: &Globals, screen: Screen) -> Result<Self, Trouble> {
        Self::with(globals.client()?, globals, screen)
    }

    /// A desk at this client.
    pub(crate) fn with(client: Client, globals: &Globals, screen: Screen) -> Result<Self, Trouble> {
        let (session, chosen) = globals.session()?;
        Ok(Self { client: Arc::new(client), session, chosen, screen, typed: globals.typed() })
    }

    /// A task, as the command line calls it.
    pub(crate) fn named(&self, task: &str) -> TaskName {
        TaskName { session: self.session.clone(), task: task.to_owned() }
    }

    /// Asks.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Reply, Trouble> {
        Ok(self.client.ask(request).await?)
    }

    /// The record of a task.
    pub(crate) async fn show(&self, task: &str) -> Result<Task, Trouble> {
        task_of(self.ask(&Request::Show(self.named(task))).await?)
    }

    /// The record of a task once it has ended, or has a question that is no approval request.
    pub(crate) async fn end_of(&self, task: String) -> Result<Task, Trouble> {
        let request = Request::Wait(WaitTasks {
            session: self.session.clone(),
            tasks: vec![task],
            mode: WaitMode::All,
            timeout_ms: None,
            keys: keys(),
            on_missing: OnMissing::Wait,
            on_approval: OnApproval::Wait,
        });
        match waited_of(self.ask(&request).await?)?.pop() {
            Some(waited) => Ok(waited.task),
            None => Err(Error::WrongAnswer.into()),
        }
    }

    /// Says that the ends of these tasks have been read. What was printed holds
    /// in any case: if this cannot be written they are told once more.
    pub(crate) async fn acknowledge(&self, tasks: Vec<String>) {
        if tasks.is_empty() {
            return;
        }
        if let Err(Trouble::Told { fault, .. }) = self.ask(&Request::Ack { tasks }).await {
            self.screen.remark(&format!("offshoot: it could not be marked as read: {fault}"));
        }
    }

    /// Answers: for people or for scripts.
    pub(crate) fn answer<T: Serialize>(
        &self,
        answer: &T,
        people: impl FnOnce(&T) -> String,
    ) -> Result<(), Trouble> {
        match self.screen.form {
            Form::People => self.screen.say(&people(answer)),
            Form::Json => self.screen.json(answer),
        }
    }

    /// Says what was done. If that cannot be said, it is done all the same.
    pub(crate) fn report<T: Serialize>(
        &self,
        done: &T,
        people: impl FnOnce(&T) -> String,
    ) -> Result<(), Trouble> {
        self.answer(done, people)
            .map_err(|trouble| trouble.hint("what was asked for was done all the same"))
    }

    /// A command line that means this session, wherever it is typed.
    pub(crate) fn command_in(&self, session: &str, command: &str, rest: &[&str]) -> String {
        match self.typed.iter().any(|word| word == "--session") {
            true => self.command(command, rest),
            false => self.command(command, &[&["--session", session], rest].concat()),
        }
    }

    /// A command line about what means the same in every session.
    pub(crate) fn command_anywhere(&self, command: &str, rest: &[&str]) -> String {
        let mut desk = self.clone();
        if let Some(at) = desk.typed.iter().position(|word| word == "--session") {
            desk.typed.drain(at..(at + 2).min(desk.typed.len()));
        }
        desk.command(command, rest)
    }

    /// A command line that means the same place as this one.
    pub(crate) fn command(&self, command: &str, rest: &[&str]) -> String {
        let mut line = format!("offshoot {command}");
        for word in self.typed.iter().map(String::as_str).chain(rest.iter().copied()) {
            line.push(' ');
            line.push_str(&text::quoted(word));
        }
        line
    }
}

/// The task that was answered with.
pub(crate) fn task_of(reply: Reply) -> Result<Task, Trouble> {
    match reply {
        Reply::Task(task) => Ok(*task),
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// An agent that was asked.
#[derive(Debug)]
pub(crate) struct AskedAgent {
    /// Its task.
    pub(crate) task: Task,
    /// The message that asks it, if it was at work already.
    pub(crate) message: Option<String>,
    /// How many blocks its conversation had before.
    pub(crate) before: u64,
    /// What does not count as it is written.
    pub(crate) notes: Vec<String>,
}

/// The agent that was asked.
pub(crate) fn asked_of(reply: Reply) -> Result<AskedAgent, Trouble> {
    match reply {
        Reply::Run { task, message, before, notes } => {
            Ok(AskedAgent { task: *task, message, before, notes })
        }
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// The tasks that were waited for.
pub(crate) fn waited_of(reply: Reply) -> Result<Vec<WaitResult>, Trouble> {
    match reply {
        Reply::Waited { tasks } => Ok(tasks),
        _ => Err(Error::WrongAnswer.into()),
    }
}
