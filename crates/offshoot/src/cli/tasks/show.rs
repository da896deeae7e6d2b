//! `offshoot tasks show`

use clap::Args;
use jiff::Timestamp;

use crate::cli::completions;
use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::show::task;
use crate::cli::trouble::Trouble;

/// Show all that is known of a task
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks show build-1
  offshoot tasks show --json build-1 | jq .outcome

The command it shows can be pasted into a shell.")]
pub(crate) struct Show {
    /// Its handle, `<parent>/<name>` or id
    #[arg(value_name = "TASK", add = completions::handles())]
    task: String,
}

impl Show {
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        let found = desk.show(&self.task).await?;
        desk.answer(&found, |found| task::in_full(found, Timestamp::now(), desk.screen.out))?;
        Ok(Exit::Done)
    }
}
