//! `offshoot tasks cancel`

use std::time::Duration;

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{CancelOptions, Code, Reply, Request};
use serde::Serialize;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::{size, text};
use crate::cli::{completions, duration};

/// Stop tasks and everything below them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks cancel build-1 --reason 'the wrong branch'
  offshoot tasks cancel --grace 0s a b    # at once
  offshoot tasks cancel a && offshoot tasks wait a

It asks and does not wait: `offshoot tasks wait` says when they are gone. A
command is sent TERM, and KILL when its grace is over.")]
pub(crate) struct Cancel {
    #[command(flatten)]
    stopping: Stopping,
    /// Handles, `<parent>/<name>` or ids
    #[arg(value_name = "TASK", required = true, add = completions::live_handles())]
    tasks: Vec<String>,
}

/// How something is stopped.
#[derive(Debug, Args)]
pub(crate) struct Stopping {
    /// Why; it is kept with the task
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Time it has before it is ended by force, such as 10s
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    #[arg(allow_hyphen_values = true)]
    grace: Option<Duration>,
}

impl Stopping {
    /// The request.
    pub(crate) fn stop(self) -> CancelOptions {
        CancelOptions { reason: self.reason, grace_ms: self.grace.map(duration::millis) }
    }
}

/// How far a request to stop has come.
#[derive(Debug, Serialize)]
struct CancelResult {
    task: String,
    handle: String,
    /// How many tasks were asked that had not been asked before.
    reached: usize,
    found: TargetState,
}

/// How the request found the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TargetState {
    /// It had not ended.
    Live,
    /// It had.
    Ended,
}

impl Cancel {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        // All of them are known before the first is stopped.
        let mut found = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            found.push(cx.show(task).await?);
        }
        let stop = self.stopping.stop();
        let mut reached = Vec::with_capacity(found.len());
        for task in found {
            let cancel = Request::Cancel { task: cx.named(&task.id), stop: stop.clone() };
            let (tasks, found) = match cx.client.ask(&cancel).await {
                Ok(Reply::Reached { tasks }) => (tasks, TargetState::Live),
                Ok(_) => return Err(Error::WrongAnswer.into()),
                // What was wanted is so.
                Err(Error::Refused(fault)) if fault.code == Code::Ended => (0, TargetState::Ended),
                Err(error) => return Err(error.into()),
            };
            reached.push(CancelResult {
                task: task.id,
                handle: task.handle,
                reached: tasks,
                found,
            });
        }
        cx.report(&serde_json::json!({ "cancelled": reached }), |_| {
            reached.iter().map(told).collect()
        })?;
        Ok(Exit::Done)
    }
}

fn told(reached: &CancelResult) -> String {
    let handle = text::line(&reached.handle);
    match (reached.reached, reached.found) {
        (_, TargetState::Ended) => format!("{handle} had ended already\n"),
        (0, TargetState::Live) => format!("{handle} was asked to stop again\n"),
        (1, TargetState::Live) => format!("{handle} was asked to stop\n"),
        (more, TargetState::Live) => {
            let below = size::count(more as u64 - 1, "task");
            format!("{handle} and {below} below it were asked to stop\n")
        }
    }
}
