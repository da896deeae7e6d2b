//! `offshoot tasks show`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::wire::{Outcome, Task};

use crate::cli::completions;
use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::show::{size, task, text};
use crate::cli::trouble::Trouble;

/// Show all that is known of a task
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks show build-1
  offshoot tasks show --json build-1 | jq .outcome
  offshoot tasks show --result lead       # all that an agent answered, alone

The command it shows can be pasted into a shell.")]
pub(crate) struct Show {
    /// Print what it returned, whole, and nothing else
    #[arg(long)]
    result: bool,
    /// Its handle, `<parent>/<name>` or id
    #[arg(value_name = "TASK", add = completions::handles())]
    task: String,
}

impl Show {
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        let found = desk.show(&self.task).await?;
        if self.result {
            return result(desk, &found);
        }
        desk.answer(&found, |found| task::in_full(found, Timestamp::now(), desk.screen.out))?;
        Ok(Exit::Done)
    }
}

/// Prints what a task returned, as it is.
fn result(desk: &Desk, found: &Task) -> Result<Exit, Trouble> {
    let handle = text::line(&found.handle);
    let outcome = found.outcome.as_ref();
    match outcome.and_then(|outcome| outcome.value.as_ref()) {
        Some(value) => {
            desk.answer(value, |value| task::returned(value, desk.screen))?;
            Ok(Exit::Done)
        }
        None => Err(match outcome {
            None => Trouble::failed(format!("{handle} has no result yet: {}", found.state.word()))
                .hint(format!("wait for it with: {}", desk.command("tasks wait", &[&found.id]))),
            Some(Outcome { value_bytes: Some(bytes), .. }) => Trouble::failed(format!(
                "what {handle} returned is too long to be passed on: {}",
                size::bytes(*bytes)
            )),
            Some(outcome) => {
                let how = text::line(&task::ending(outcome));
                Trouble::failed(format!("{handle} {}, and returned nothing", found.state.word()))
                    .hint(format!("how it ended: {how}"))
            }
        }),
    }
}
