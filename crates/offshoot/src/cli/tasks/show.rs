//! `offshoot tasks show`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::wire::{Outcome, Task};

use crate::cli::completions;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::{size, task, text};

/// Show the full record of a task
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks show build-1
  offshoot tasks show --json build-1 | jq .outcome
  offshoot tasks show --result lead       # only the agent's full answer

The command line it shows can be pasted into a shell.")]
pub(crate) struct Show {
    /// Print only the full result
    #[arg(long)]
    result: bool,
    /// Handle, `<parent>/<name>` or id of the task
    #[arg(value_name = "TASK", add = completions::handles())]
    task: String,
}

impl Show {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let found = cx.show(&self.task).await?;
        if self.result {
            return result(cx, &found);
        }
        cx.answer(&found, |found| task::in_full(found, Timestamp::now(), cx.screen.out))?;
        Ok(Exit::Done)
    }
}

/// Prints the full result of a task.
fn result(cx: &CommandContext, found: &Task) -> Result<Exit, CliError> {
    let handle = text::line(&found.handle);
    let outcome = found.outcome.as_ref();
    match outcome.and_then(|outcome| outcome.value.as_ref()) {
        Some(value) => {
            cx.answer(value, |value| task::returned(value, cx.screen))?;
            Ok(Exit::Done)
        }
        None => Err(match outcome {
            None => CliError::failed(format!("{handle} has no result yet: {}", found.state.word()))
                .hint(format!("wait for it with: {}", cx.command("tasks wait", &[&found.id]))),
            Some(Outcome { value_bytes: Some(bytes), .. }) => CliError::failed(format!(
                "the result of {handle} is too long to print: {}",
                size::bytes(*bytes)
            )),
            Some(outcome) => {
                let how = text::line(&task::ending(outcome));
                CliError::failed(format!("{handle} {} without a result", found.state.word()))
                    .hint(format!("its end: {how}"))
            }
        }),
    }
}
