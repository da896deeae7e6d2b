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

/// Stop tasks and all tasks below them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot tasks cancel build-1 --reason 'the wrong branch'
  offshoot tasks cancel --grace 0s a b    # at once
  offshoot tasks cancel a && offshoot tasks wait a

The command returns at once; `offshoot tasks wait` waits for the end. A command
gets TERM, and KILL after its grace time.")]
pub(crate) struct Cancel {
    #[command(flatten)]
    stopping: Stopping,
    /// Handles, `<parent>/<name>` or ids of the tasks
    #[arg(value_name = "TASK", required = true, add = completions::live_handles())]
    tasks: Vec<String>,
}

/// The options of a cancel.
#[derive(Debug, Args)]
pub(crate) struct Stopping {
    /// Reason, stored with the task
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Time between TERM and KILL, such as 10s
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    #[arg(allow_hyphen_values = true)]
    grace: Option<Duration>,
}

impl Stopping {
    /// Converts the options for a request.
    pub(crate) fn stop(self) -> CancelOptions {
        CancelOptions { reason: self.reason, grace_ms: self.grace.map(duration::millis) }
    }
}

/// The result of a cancel for one task.
#[derive(Debug, Serialize)]
struct CancelResult {
    task: String,
    handle: String,
    /// The number of tasks that this cancel was the first to reach.
    reached: usize,
    found: TargetState,
}

/// The state of the task when the cancel arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TargetState {
    /// The task was live.
    Live,
    /// The task had ended.
    Ended,
}

impl Cancel {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        // Look up all tasks before the first is stopped.
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
                // The task has ended, which is the purpose of a cancel.
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
        (_, TargetState::Ended) => format!("{handle} had already ended\n"),
        (0, TargetState::Live) => format!("{handle} is already stopping\n"),
        (1, TargetState::Live) => format!("{handle} is stopping\n"),
        (more, TargetState::Live) => {
            let below = size::count(more as u64 - 1, "task");
            format!("{handle} and {below} below it are stopping\n")
        }
    }
}
