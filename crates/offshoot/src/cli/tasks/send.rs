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

/// Send a task a message, or answer what it asks
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks send build-1 skip the tests
  echo yes | offshoot tasks send install-1 -
  offshoot tasks send sort-1 --eof        # close its standard input
  offshoot tasks send lead/ants the red ones

A command reads it as a line of its input, an agent before its next step. If an
agent asks something and waits, this is the answer, and it says so. If it has
ended, a new task goes on with its conversation, which is named.")]
pub(crate) struct Send {
    /// Its handle, `<parent>/<name>` or id
    #[arg(value_name = "TASK", add = completions::live_handles())]
    task: String,
    /// The message, joined with spaces; `-` reads the standard input
    #[arg(value_name = "TEXT", required_unless_present = "eof")]
    text: Vec<String>,
    /// Close the standard input of the command, after the message
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
            // What follows goes where the first one went, whatever is called so
            // by then.
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

/// A message that is durable, or an answer that was given.
#[derive(Debug, serde::Serialize)]
struct Delivery {
    /// Its id; an answer has none.
    message: Option<String>,
    /// Who gets it.
    task: String,
    handle: String,
    /// How far it has come, or `answered`.
    state: String,
    /// The question that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<u32>,
    /// The task that had ended, for which a new one goes on.
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
                format!("{state} for {handle}, a new task that goes on for the ended one: {task}")
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

/// Says it to a task that waits for an answer: it is one.
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

/// All of our own input, without the line break that ends it.
fn input() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => CliError::usage("the standard input is not UTF-8")
            .hint("a message is text; a command can read a file instead"),
        _ => CliError::usage(format!("the standard input cannot be read: {error}")),
    })?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
