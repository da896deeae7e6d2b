//! `offshoot approvals revoke`

use std::path::PathBuf;

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{Reply, Request};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::{size, text};

/// Take back what was allowed for ever
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot approvals revoke 'run_command(cargo test)'
  offshoot approvals revoke --all --folder ~/project

`offshoot approvals grants` lists what there is. Calls that were made stay made;
from now on it is asked for again.")]
pub(crate) struct Revoke {
    /// The rule, as `offshoot approvals grants` shows it
    #[arg(value_name = "RULE", required_unless_present = "all", conflicts_with = "all")]
    rule: Option<String>,
    /// All that was allowed for ever in the folder
    #[arg(long)]
    all: bool,
    /// The folder; the present one if it is not said
    #[arg(long, value_name = "DIR")]
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
                [rule] => format!("{rule} is asked for again\n"),
                rules => format!("{}\n", size::count(rules.len() as u64, "rule") + " taken back"),
            }
        })?;
        Ok(Exit::Done)
    }
}
