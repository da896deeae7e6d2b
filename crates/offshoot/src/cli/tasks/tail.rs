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

/// Print the output of a command, or the conversation of an agent
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks tail build-1             # all output that is kept
  offshoot tasks tail -n 20 build-1       # the last 20 lines
  offshoot tasks tail -f build-1          # follow the output until the end
  offshoot tasks tail build-1 > log.txt   # the exact bytes
  offshoot tasks tail --json build-1      # as JSON lines
  offshoot tasks tail -f lead             # the conversation of an agent

Agents: the last 50 blocks of the conversation are shown, or as many as -n says,
up to 256. A long block is cut, with the number of missing characters. With
--json, each block is a line: {\"block\":{…}}.

Commands: both streams go to the standard output. A terminal gets them without
control sequences, a file or pipe gets the exact bytes.

With --json, each piece of output is a line: {\"stream\":\"stdout\",\"text\":\"…\"}. If
it is not UTF-8, `bytes` holds the exact bytes in Base64. {\"missing_bytes\":N}
marks a gap of N bytes, and {\"task\":{…}} comes last.")]
pub(crate) struct Tail {
    /// Follow until the task ends
    #[arg(short, long)]
    follow: bool,
    /// Print only the last N lines, or blocks of a conversation
    #[arg(short = 'n', long, value_name = "N", value_parser = number::any)]
    #[arg(allow_negative_numbers = true)]
    lines: Option<u64>,
    /// Print the exact bytes, even on a terminal
    #[arg(long)]
    raw: bool,
    /// Handle, `<parent>/<name>` or id of the task
    #[arg(value_name = "TASK", add = completions::handles())]
    task: String,
}

impl Tail {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        // Use the id: the handle may name another task before the end is read.
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
        // The last output may arrive before the task has ended.
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
