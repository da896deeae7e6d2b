//! `offshoot tasks tail`

use std::io::IsTerminal;

use clap::Args;
use offshoot_client::wire::{self, Following, Reading};

use crate::cli::completions;
use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::outlet::{Outlet, Passing};
use crate::cli::pump::{Outlets, Pump};
use crate::cli::show::Form;
use crate::cli::show::text::Safe;
use crate::cli::trouble::Trouble;

/// Read what a command wrote
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks tail build-1             # all that is kept of its output
  offshoot tasks tail -n 20 build-1       # the last 20 lines
  offshoot tasks tail -f build-1          # go on as it writes, until it ends
  offshoot tasks tail build-1 > log.txt   # the exact bytes

Both streams of the command go to the standard output: on a terminal so that no
control sequence is obeyed, else byte for byte.")]
pub(crate) struct Tail {
    /// Go on as it writes, until it ends
    #[arg(short, long)]
    follow: bool,
    /// Only the last lines
    #[arg(short = 'n', long, value_name = "LINES")]
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
        if desk.screen.form == Form::Json {
            return Err(Trouble::usage("output is bytes and not JSON: leave out --json"));
        }
        // By its id: the handle may mean another task before the end is read.
        let task = desk.show(&self.task).await?;
        let outlets = Outlets { out: self.outlet()?, err: self.outlet()? };
        let reading = self.lines.map_or(Reading::Start, Reading::Lines);
        let following = if self.follow { Following::Follow } else { Following::Stop };
        let tail = wire::Tail { task: desk.named(&task.id), reading, following };
        let read = Pump::new(desk.clone(), tail, outlets).run().await?;
        // All that it wrote may be there a moment before its end is.
        if following == Following::Follow && !read.state.is_terminal() {
            desk.end_of(task.id).await?;
        }
        Ok(Exit::Done)
    }

    fn outlet(&self) -> Result<(Outlet, Passing), Trouble> {
        let passing = match std::io::stdout().is_terminal() && !self.raw {
            true => Passing::Safe(Safe::default()),
            false => Passing::Exact,
        };
        Ok((Outlet::stdout()?, passing))
    }
}
