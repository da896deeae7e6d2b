//! `offshoot sessions cancel`

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{Reply, Request};

use crate::cli::completions;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::{size, text};
use crate::cli::tasks::Stopping;

/// Stop all tasks of a session
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot sessions cancel nightly --reason 'the disk is full'
  offshoot sessions cancel --grace 0s     # this session, at once

The command returns at once; `offshoot sessions ls` shows how many tasks are
still live.")]
pub(crate) struct Cancel {
    #[command(flatten)]
    stopping: Stopping,
    /// Session [default: that of --session]
    #[arg(value_name = "SESSION", add = completions::session_names())]
    name: Option<String>,
}

impl Cancel {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let session = self.name.unwrap_or_else(|| cx.session.clone());
        let stop = self.stopping.stop();
        let cancel = Request::CancelSession { session: session.clone(), stop };
        let reached = match cx.ask(&cancel).await? {
            Reply::Reached { tasks } => tasks,
            _ => return Err(Error::WrongAnswer.into()),
        };
        cx.report(&serde_json::json!({ "session": session, "reached": reached }), |_| {
            let tasks = size::count(reached as u64, "task");
            let are = if reached == 1 { "is" } else { "are" };
            format!("{tasks} of {} {are} stopping\n", text::line(&session))
        })?;
        Ok(Exit::Done)
    }
}
