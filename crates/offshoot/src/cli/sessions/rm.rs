//! `offshoot sessions rm`

use clap::Args;
use offshoot_client::wire::Request;

use crate::cli::completions;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::text;

/// Remove a session, its finished tasks and their output
#[derive(Debug, Args)]
#[command(after_help = "Example:
  offshoot sessions rm nightly

A session with live tasks cannot be removed; `offshoot sessions cancel` stops
them.")]
pub(crate) struct Rm {
    /// Session [default: that of --session]
    #[arg(value_name = "SESSION", add = completions::session_names())]
    name: Option<String>,
}

impl Rm {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let session = self.name.unwrap_or_else(|| cx.session.clone());
        cx.ask(&Request::RemoveSession { session: session.clone() }).await?;
        cx.report(&serde_json::json!({ "removed": session }), |_| {
            format!("{} is removed\n", text::line(&session))
        })?;
        Ok(Exit::Done)
    }
}
