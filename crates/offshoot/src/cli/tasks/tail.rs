//! `offshoot tasks tail`

use std::io::IsTerminal;

use clap::Args;
use offshoot_client::wire::{self, Following, Reading, StreamName};

use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::lines::Lines;
use crate::cli::outlet::{Outlet, Passing};
use crate::cli::pump::{Outlets, Pump};
use crate::cli::show::Form;
use crate::cli::show::text::Safe;
use crate::cli::trouble::Trouble;
use crate::cli::{completions, number};

/// Read what a command wrote
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks tail build-1             # all that is kept of its output
  offshoot tasks tail -n 20 build-1       # the last 20 lines
  offshoot tasks tail -f build-1          # go on as it writes, until it ends
  offshoot tasks tail build-1 > log.txt   # the exact bytes
  offshoot tasks tail --json build-1      # as JSON lines

Both streams of the command go to the standard output: on a terminal so that no
control sequence is obeyed, else byte for byte.

With --json each line is a piece of it, such as {\"stream\":\"stdout\",\"text\":\"…\"}.
If it is not UTF-8 its bytes are there, too, in Base64. {\"missing_bytes\":N}
stands where N bytes were not kept, and {\"task\":{…}} comes last.")]
pub(crate) struct Tail {
    /// Go on as it writes, until it ends
    #[arg(short, long)]
    follow: bool,
    /// Only the last N lines
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
        let outlets = Outlets {
            out: (Outlet::stdout()?, self.passing(form, StreamName::Stdout)),
            err: (Outlet::stdout()?, self.passing(form, StreamName::Stderr)),
        };
        let reading = self.lines.map_or(Reading::Start, Reading::Lines);
        let following = if self.follow { Following::Follow } else { Following::Stop };
        let tail = wire::Tail { task: desk.named(&task.id), reading, following };
        let mut read = Pump::new(desk.clone(), tail, outlets).run().await?.task;
        // All that it wrote may be there a moment before its end is.
        if following == Following::Follow && !read.state.is_terminal() {
            read = desk.end_of(task.id).await?;
        }
        if form == Form::Json {
            desk.screen.json_line(&serde_json::json!({ "task": read }))?;
        }
        Ok(Exit::Done)
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
