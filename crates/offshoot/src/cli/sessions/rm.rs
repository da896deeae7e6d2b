//! `offshoot sessions rm`

use clap::Args;
use offshoot_client::wire::Request;

use crate::cli::completions;
use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::show::text;
use crate::cli::trouble::Trouble;

/// Remove a session, its finished tasks and their output
#[derive(Debug, Args)]
#[command(after_help = "Example:
  offshoot sessions rm nightly

None of its tasks may be live: `offshoot sessions cancel` stops them.")]
pub(crate) struct Rm {
    /// Its name, if --session does not say it
    #[arg(value_name = "SESSION", add = completions::session_names())]
    name: Option<String>,
}

impl Rm {
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        let session = self.name.unwrap_or_else(|| desk.session.clone());
        desk.ask(&Request::RemoveSession { session: session.clone() }).await?;
        desk.report(&serde_json::json!({ "removed": session }), |_| {
            format!("{} is removed\n", text::line(&session))
        })?;
        Ok(Exit::Done)
    }
}
