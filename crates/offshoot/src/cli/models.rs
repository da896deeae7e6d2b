//! `offshoot models`: whom agents can ask.

use clap::{Args, Subcommand};
use offshoot_client::Error;
use offshoot_client::wire::{Provider, Reply, Request};

use super::desk::Desk;
use super::exit::Exit;
use super::globals::Globals;
use super::run::keys;
use super::show::table::{Cell, Column, Table};
use super::show::{Form, Part, Screen};
use super::trouble::Trouble;

/// Whom agents can ask.
#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    Ls(Ls),
}

/// List models, and which variable is missing for the others
#[derive(Debug, Args)]
#[command(after_help = "\
Prices are in US dollars for a million tokens, as far as they are known. A model
that is not listed can be named all the same, with --model <provider>/<name>.")]
pub(crate) struct Ls {
    /// Also those whose key is not there
    #[arg(long)]
    all: bool,
}

impl Models {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let Self::Ls(ls) = self;
        ls.run(&Desk::new(globals, screen)?).await
    }
}

impl Ls {
    async fn run(self, desk: &Desk) -> Result<Exit, Trouble> {
        let mut providers = match desk.ask(&Request::Models { keys: keys() }).await? {
            Reply::Models { providers } => providers,
            _ => return Err(Error::WrongAnswer.into()),
        };
        if desk.screen.form == Form::Json {
            desk.screen.json(&serde_json::json!({ "providers": providers }))?;
            return Ok(Exit::Done);
        }
        let missing: Vec<_> = providers.iter().filter(|one| !one.usable).map(missing).collect();
        if !self.all {
            providers.retain(|one| one.usable);
        }
        desk.screen.say(&table(&providers).render(desk.screen.width, desk.screen.out))?;
        for line in missing {
            desk.screen.remark(&line);
        }
        Ok(Exit::Done)
    }
}

fn missing(provider: &Provider) -> String {
    format!("no key for {}: set {}", provider.provider, provider.variables.join(" or "))
}

fn table(providers: &[Provider]) -> Table {
    let mut table = Table::new([
        Column::firm("MODEL"),
        Column::stiff("READS"),
        Column::stiff("IN"),
        Column::stiff("OUT"),
    ]);
    for provider in providers {
        for model in &provider.models {
            table.row([
                Cell::new(&model.name).part(Part::Name),
                Cell::new(window(model.window)),
                Cell::new(dollars(model.input)),
                Cell::new(dollars(model.output)),
            ]);
        }
        if provider.models.is_empty() {
            let name = format!("{}/<name>", provider.provider);
            table.row([Cell::new(name).part(Part::Name), blank(), blank(), blank()]);
        }
    }
    table
}

fn blank() -> Cell {
    Cell::new("")
}

fn window(tokens: u64) -> String {
    match tokens {
        0 => String::new(),
        tokens => format!("{}k", tokens / 1_000),
    }
}

fn dollars(thousandths: Option<u64>) -> String {
    match thousandths {
        None => "?".to_owned(),
        Some(0) => "free".to_owned(),
        Some(price) => format!("{}.{:02}", price / 1_000, price % 1_000 / 10),
    }
}
