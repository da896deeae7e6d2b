//! `offshoot tasks send`

use std::io::{ErrorKind, Read};

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{Message, Reply, Request, Sequel};

use crate::cli::completions;
use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::show::text;
use crate::cli::trouble::Trouble;

/// Send a task a message; a command reads it as a line of its input
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks send build-1 skip the tests
  echo yes | offshoot tasks send install-1 -
  offshoot tasks send sort-1 --eof        # close its standard input")]
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
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        let mut messages = Vec::new();
        match self.text.as_slice() {
            [] => {}
            [dash] if dash == "-" => messages.push((input()?, Sequel::More)),
            words => messages.push((words.join(" "), Sequel::More)),
        }
        if self.eof {
            messages.push((String::new(), Sequel::End));
        }
        let mut task = self.task;
        let mut all = Vec::with_capacity(messages.len());
        for (text, sequel) in messages {
            let sent = send(desk, &task, text, sequel).await?;
            // What follows goes where the first one went, whatever is called so
            // by then.
            if let Reply::Sent { task: taker, .. } = &sent {
                task.clone_from(taker);
            }
            all.push(Sent::of(sent)?);
        }
        desk.report(&serde_json::json!({ "sent": all }), |_| {
            let last = all.last().map(|sent| text::line(&sent.state));
            format!("{}\n", last.unwrap_or_default())
        })?;
        Ok(Exit::Done)
    }
}

/// A message that is durable.
#[derive(Debug, serde::Serialize)]
struct Sent {
    message: String,
    task: String,
    state: String,
}

impl Sent {
    fn of(reply: Reply) -> Result<Self, Trouble> {
        match reply {
            Reply::Sent { message, task, state } => Ok(Self { message, task, state }),
            _ => Err(Error::WrongAnswer.into()),
        }
    }
}

async fn send(desk: &Desk, task: &str, text: String, sequel: Sequel) -> Result<Reply, Trouble> {
    let key = uuid::Uuid::new_v4().to_string();
    desk.ask(&Request::Send(Message { to: desk.named(task), text, sequel, key })).await
}

/// All of our own input, without the line break that ends it.
fn input() -> Result<String, Trouble> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Trouble::usage("the standard input is not UTF-8")
            .hint("a message is text: write it into a file, and say where that is"),
        _ => Trouble::usage(format!("the standard input cannot be read: {error}")),
    })?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
