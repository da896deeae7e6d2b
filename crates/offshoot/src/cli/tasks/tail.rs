//! `offshoot tasks tail`

use std::io::IsTerminal;

use clap::Args;
use offshoot_client::wire::{self, StreamName, TailMode, TailStart, Task};

use super::conversation::{self, Rendering};
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::lines::Lines;
use crate::cli::output::{OutputFilter, OutputStream};
use crate::cli::pump::{OutputStreams, Pump};
use crate::cli::show::Format;
use crate::cli::show::text::SafeText;
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
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        // By its id: the handle may mean another task before the end is read.
        let task = cx.show(&self.task).await?;
        let format = cx.screen.format;
        if task.agent.is_some() {
            return self.show_conversation(cx, &task).await;
        }
        let streams = OutputStreams {
            out: (OutputStream::stdout()?, self.filter(format, StreamName::Stdout)),
            err: (OutputStream::stdout()?, self.filter(format, StreamName::Stderr)),
        };
        let (tail, following) = (self.asked(cx, &task), self.following());
        let mut read = Pump::new(cx.clone(), tail, streams).run().await?.task;
        // All that it wrote may be there a moment before its end is.
        if following == TailMode::Follow && !read.state.is_terminal() {
            read = cx.end_of(task.id).await?;
        }
        if format == Format::Json {
            cx.screen.json_line(&serde_json::json!({ "task": read }))?;
        }
        Ok(Exit::Done)
    }

    /// Shows the conversation of an agent.
    async fn show_conversation(&self, cx: &CommandContext, task: &Task) -> Result<Exit, CliError> {
        let exact = cx.screen.width.is_none() || self.raw;
        let shown = if exact { Rendering::Exact } else { Rendering::Safe };
        let read = conversation::show(cx, self.asked(cx, task), shown).await?;
        if cx.screen.format == Format::Json {
            cx.screen.json_line(&serde_json::json!({ "task": read }))?;
        }
        Ok(Exit::Done)
    }

    fn asked(&self, cx: &CommandContext, task: &Task) -> wire::Tail {
        let reading = self.lines.map_or(TailStart::Start, TailStart::Lines);
        wire::Tail { task: cx.named(&task.id), reading, following: self.following() }
    }

    fn following(&self) -> TailMode {
        if self.follow { TailMode::Follow } else { TailMode::Stop }
    }

    fn filter(&self, format: Format, stream: StreamName) -> OutputFilter {
        match format {
            Format::Json => OutputFilter::Json(Lines::new(stream)),
            Format::Text if std::io::stdout().is_terminal() && !self.raw => {
                OutputFilter::SafeText(SafeText::default())
            }
            Format::Text => OutputFilter::Exact,
        }
    }
}
