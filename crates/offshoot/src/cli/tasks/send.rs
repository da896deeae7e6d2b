//! `offshoot tasks send`

use std::io::{ErrorKind, Read};

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{AnswerQuestion, Continuation, Reply, Request, SendMessage, Task};

use crate::cli::completions;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::run::keys;
use crate::cli::show::text;

/// Send a message to a task, or answer its question
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks send build-1 skip the tests
  echo yes | offshoot tasks send install-1 -
  offshoot tasks send sort-1 --eof        # close its standard input
  offshoot tasks send lead/ants the red ones

A command reads the message as a line of its input, an agent reads it before its
next step. If an agent waits for an answer, the message is the answer. If an
agent has ended, a new task continues its conversation; its handle is printed.")]
pub(crate) struct Send {
    /// Handle, `<parent>/<name>` or id of the task
    #[arg(value_name = "TASK", add = completions::live_handles())]
    task: String,
    /// Words of the message; `-` reads the standard input
    #[arg(value_name = "TEXT", required_unless_present = "eof")]
    text: Vec<String>,
    /// Close the command's standard input after the message
    #[arg(long)]
    eof: bool,
}

impl Send {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let found = cx.show(&self.task).await?;
        let mut messages = Vec::new();
        match self.text.as_slice() {
            [] => {}
            [dash] if dash == "-" => messages.push((input()?, Continuation::More)),
            words => messages.push((words.join(" "), Continuation::More)),
        }
        if self.eof {
            messages.push((String::new(), Continuation::End));
        }
        let mut task = self.task;
        let mut all = Vec::with_capacity(messages.len());
        for (text, sequel) in messages {
            let sent = match &found.question {
                Some(question) if all.is_empty() && sequel == Continuation::More => {
                    answer(cx, &found, question.number, text).await?
                }
                _ => send(cx, &task, text, sequel).await?,
            };
            // Later messages go to the task that took the first one.
            task.clone_from(&sent.task);
            all.push(sent);
        }
        for sent in &mut all {
            if sent.task != found.id {
                let taker = cx.show(&sent.task).await?;
                (sent.handle, sent.continues) = (taker.handle, Some(found.id.clone()));
            }
        }
        cx.report(&serde_json::json!({ "sent": all }), |_| {
            format!("{}\n", all.last().map(Delivery::told).unwrap_or_default())
        })?;
        Ok(Exit::Done)
    }
}

/// A message or an answer that was sent.
#[derive(Debug, serde::Serialize)]
struct Delivery {
    /// The message id; an answer has none.
    message: Option<String>,
    /// The task that gets it.
    task: String,
    handle: String,
    /// The state of the message, or `answered`.
    state: String,
    /// The number of the answered question.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<u32>,
    /// The ended task whose conversation the new task continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    continues: Option<String>,
}

impl Delivery {
    fn told(&self) -> String {
        let (state, handle) = (text::line(&self.state), text::line(&self.handle));
        match (self.question, &self.continues) {
            (Some(number), _) => format!("{state} question {number} of {handle}"),
            (None, Some(_)) => {
                let task = text::line(&self.task);
                format!("{state} for {handle}, a new task that continues the ended one: {task}")
            }
            (None, None) => state,
        }
    }
}

async fn send(
    cx: &CommandContext,
    task: &str,
    text: String,
    sequel: Continuation,
) -> Result<Delivery, CliError> {
    let key = uuid::Uuid::new_v4().to_string();
    let message = SendMessage { to: cx.named(task), text, sequel, key, keys: keys() };
    match cx.ask(&Request::Send(message)).await? {
        Reply::Sent { message, task: taker, state } => Ok(Delivery {
            message: Some(message),
            task: taker,
            handle: task.to_owned(),
            state,
            question: None,
            continues: None,
        }),
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// Answers the question of a task.
async fn answer(
    cx: &CommandContext,
    to: &Task,
    number: u32,
    text: String,
) -> Result<Delivery, CliError> {
    cx.ask(&Request::Answer(AnswerQuestion { to: cx.named(&to.id), number, text })).await?;
    Ok(Delivery {
        message: None,
        task: to.id.clone(),
        handle: to.handle.clone(),
        state: "answered".to_owned(),
        question: Some(number),
        continues: None,
    })
}

/// Reads the standard input without its final line break.
fn input() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => CliError::usage("the standard input is not UTF-8")
            .hint("a message must be text; let the command read a file instead"),
        _ => CliError::usage(format!("the standard input cannot be read: {error}")),
    })?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
