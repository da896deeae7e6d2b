//! `offshoot tasks tail`

use std::io::IsTerminal;

use clap::Args;
use offshoot_client::wire::{self, StreamName, TailMode, TailStart, Task};

use super::talk::{self, Shown};
use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::lines::Lines;
use crate::cli::outlet::{Outlet, Passing};
use crate::cli::pump::{Outlets, Pump};
use crate::cli::show::Form;
use crate::cli::show::text::Safe;
use crate::cli::trouble::Trouble;
use crate::cli::{completions, number};

/// Read what a command wrote, or what an agent said and was told
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks tail build-1             # all that is kept of its output
  offshoot tasks tail -n 20 build-1       # the last 20 lines
  offshoot tasks tail -f build-1          # go on as it writes, until it ends
  offshoot tasks tail build-1 > log.txt   # the exact bytes
  offshoot tasks tail --json build-1      # as JSON lines
  offshoot tasks tail -f lead             # the conversation of an agent

Of an agent the conversation is shown: what it was asked and told, what it said,
called and got. These are the last 50 blocks, or as many as -n says, up to 256;
a long one is cut, and says how much. With --json each is a line, {\"block\":{…}}.

Both streams of the command go to the standard output: on a terminal so that no
control sequence is obeyed, else byte for byte.

With --json each line is a piece of it, such as {\"stream\":\"stdout\",\"text\":\"…\"}.
If it is not UTF-8 its bytes are there, too, in Base64. {\"missing_bytes\":N}
stands where N bytes were not kept, and {\"task\":{…}} comes last.")]
pub(crate) struct Tail {
    /// Go on as it writes, until it ends
    #[arg(short, long)]
    follow: bool,
    /// Only the last N lines, or blocks of a conversation
    #[arg(short = 'n', long, value_name = "N", value_parser = number::any)]
    #[arg(allow_negative_numbers = true)]
    lines: Option<u64>,
    /// The exact bytes, on a terminal too
    #[arg(long)]
    raw: bool,
    /// Its handle, `<parent>/<name>` or id
    #[arg(value_name = "TASK", add = completions::handles())]
    task: String,
}

impl Tail {
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        // By its id: the handle may mean another task before the end is read.
        let task = desk.show(&self.task).await?;
        let form = desk.screen.form;
        if task.agent.is_some() {
            return self.talk(desk, &task).await;
        }
        let outlets = Outlets {
            out: (Outlet::stdout()?, self.passing(form, StreamName::Stdout)),
            err: (Outlet::stdout()?, self.passing(form, StreamName::Stderr)),
        };
        let (tail, following) = (self.asked(desk, &task), self.following());
        let mut read = Pump::new(desk.clone(), tail, outlets).run().await?.task;
        // All that it wrote may be there a moment before its end is.
        if following == TailMode::Follow && !read.state.is_terminal() {
            read = desk.end_of(task.id).await?;
        }
        if form == Form::Json {
            desk.screen.json_line(&serde_json::json!({ "task": read }))?;
        }
        Ok(Exit::Done)
    }

    /// Shows the conversation of an agent.
    async fn talk(&self, desk: &Desk, task: &Task) -> Result<Exit, Trouble> {
        let exact = desk.screen.width.is_none() || self.raw;
        let shown = if exact { Shown::Exactly } else { Shown::Safely };
        let read = talk::show(desk, self.asked(desk, task), shown).await?;
        if desk.screen.form == Form::Json {
            desk.screen.json_line(&serde_json::json!({ "task": read }))?;
        }
        Ok(Exit::Done)
    }

    fn asked(&self, desk: &Desk, task: &Task) -> wire::Tail {
        let reading = self.lines.map_or(TailStart::Start, TailStart::Lines);
        wire::Tail { task: desk.named(&task.id), reading, following: self.following() }
    }

    fn following(&self) -> TailMode {
        if self.follow { TailMode::Follow } else { TailMode::Stop }
    }

    fn passing(&self, form: Form, stream: StreamName) -> Passing {
        match form {
            Form::Json => Passing::Json(Lines::new(stream)),
            Form::People if std::io::stdout().is_terminal() && !self.raw => {
                Passing::Safe(Safe::default())
            }
            Form::People => Passing::Exact,
        }
    }
}
