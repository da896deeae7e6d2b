//! `offshoot approvals grants`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{Grant, Reply, Request};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::show::table::{Column, Table, TableCell};
use crate::cli::show::{Format, Part, time};

/// List grants, the standing approvals
#[derive(Debug, Args)]
#[command(after_help = "\
A grant holds for agents that work in its directory. It replaces an approval
request, and never allows a call that a profile or mode denies or that always
needs an approval. A rule with a command in brackets covers command lines that
start with it and name no path outside the directory.")]
pub(crate) struct Grants {}

impl Grants {
    pub(crate) async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let grants = match cx.ask(&Request::Grants).await? {
            Reply::Grants { grants } => grants,
            _ => return Err(Error::WrongAnswer.into()),
        };
        if cx.screen.format == Format::Json {
            cx.screen.json(&serde_json::json!({ "grants": grants }))?;
        } else if grants.is_empty() {
            cx.screen.tell("there are no grants");
        } else {
            cx.screen.say(&table(&grants).render(cx.screen.width, cx.screen.out))?;
        }
        Ok(Exit::Done)
    }
}

fn table(grants: &[Grant]) -> Table {
    let mut table =
        Table::new([Column::firm("RULE"), Column::stiff("SINCE"), Column::elastic("DIRECTORY")]);
    let now = Timestamp::now();
    for grant in grants {
        table.row([
            TableCell::new(&grant.rule).part(Part::Name),
            TableCell::new(time::ago(&grant.since, now)),
            TableCell::new(&grant.folder),
        ]);
    }
    table
}
