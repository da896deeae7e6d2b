//! `offshoot approvals grants`

use clap::Args;
use jiff::Timestamp;
use offshoot_client::Error;
use offshoot_client::wire::{Grant, Reply, Request};

use crate::cli::desk::Desk;
use crate::cli::exit::Exit;
use crate::cli::show::table::{Cell, Column, Table};
use crate::cli::show::{Form, Part, time};
use crate::cli::trouble::Trouble;

/// List the standing grants
#[derive(Debug, Args)]
#[command(after_help = "\
Each holds for agents that work in that folder. It spares a question, and never
allows what a profile or a mode forbids, nor what is always asked for. A rule in
brackets covers command lines that begin so and name no path outside the folder.")]
pub(crate) struct Grants {}

impl Grants {
    pub(crate) async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        let grants = match desk.ask(&Request::Grants).await? {
            Reply::Grants { grants } => grants,
            _ => return Err(Error::WrongAnswer.into()),
        };
        if desk.screen.form == Form::Json {
            desk.screen.json(&serde_json::json!({ "grants": grants }))?;
        } else if grants.is_empty() {
            desk.screen.tell("there are no standing grants");
        } else {
            desk.screen.say(&table(&grants).render(desk.screen.width, desk.screen.out))?;
        }
        Ok(Exit::Done)
    }
}

fn table(grants: &[Grant]) -> Table {
    let mut table =
        Table::new([Column::firm("RULE"), Column::stiff("SINCE"), Column::elastic("FOLDER")]);
    let now = Timestamp::now();
    for grant in grants {
        table.row([
            Cell::new(&grant.rule).part(Part::Name),
            Cell::new(time::ago(&grant.since, now)),
            Cell::new(&grant.folder),
        ]);
    }
    table
}
