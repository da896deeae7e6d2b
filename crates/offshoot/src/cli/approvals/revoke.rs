//! `offshoot approvals revoke`

use std::path::PathBuf;

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{Reply, Request};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::{size, text};

/// Revoke grants
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot approvals revoke 'run_command(cargo test)'
  offshoot approvals revoke --all --dir ~/project

`offshoot approvals grants` lists the grants. From now on, calls that the grant
covered need an approval again.")]
pub(crate) struct Revoke {
    /// Rule of the grant, as `offshoot approvals grants` shows it
    #[arg(value_name = "RULE", required_unless_present = "all", conflicts_with = "all")]
    rule: Option<String>,
    /// Revoke all grants of the directory
    #[arg(long)]
    all: bool,
    /// Directory of the grants [default: the current one]
    #[arg(long = "dir", alias = "folder", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Revoke {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let folder = crate::cli::directory::resolve(self.folder)?;
        let request = Request::Revoke { folder, rule: self.rule };
        let gone = match cx.ask(&request).await? {
            Reply::Grants { grants } => grants,
            _ => return Err(Error::WrongAnswer.into()),
        };
        cx.report(&serde_json::json!({ "revoked": gone }), |_| {
            let rules: Vec<String> = gone.iter().map(|grant| text::line(&grant.rule)).collect();
            match rules.as_slice() {
                [rule] => format!("{rule} is revoked\n"),
                rules => format!("{} revoked\n", size::count(rules.len() as u64, "grant")),
            }
        })?;
        Ok(Exit::Done)
    }
}
