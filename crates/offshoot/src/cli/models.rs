//! `offshoot models`: the models that agents can use.

use clap::{Args, Subcommand};
use offshoot_client::Error;
use offshoot_client::wire::{ProviderInfo, Reply, Request};

use super::context::CommandContext;
use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::run::keys;
use super::show::table::{Column, Table, TableCell};
use super::show::{Format, Part, Screen};

/// The subcommands of `offshoot models`.
#[derive(Debug, Subcommand)]
pub(crate) enum Models {
    Ls(Ls),
}

/// List usable models, and the keys that others need
#[derive(Debug, Args)]
#[command(after_help = "\
TOKENS is the size of the model's context. IN and OUT are prices in US dollars
per million input and output tokens, where known. A model that is not listed can
still be used: offshoot run --model <provider>/<name>. The offline models are no
language models: they count files by rule, for first steps and for the demo.")]
pub(crate) struct Ls {
    /// Include models whose key is missing
    #[arg(long)]
    all: bool,
}

impl Models {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let Self::Ls(ls) = self;
        ls.run(&CommandContext::new(globals, screen)?).await
    }
}

impl Ls {
    async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let mut providers = match cx.ask(&Request::Models { keys: keys() }).await? {
            Reply::Models { providers } => providers,
            _ => return Err(Error::WrongAnswer.into()),
        };
        if cx.screen.format == Format::Json {
            cx.screen.json(&serde_json::json!({ "providers": providers }))?;
            return Ok(Exit::Done);
        }
        let missing = missing(&providers);
        if !self.all {
            providers.retain(|one| one.usable);
        }
        cx.screen.say(&table(&providers).render(cx.screen.width, cx.screen.out))?;
        for line in missing {
            cx.screen.remark(&line);
        }
        Ok(Exit::Done)
    }
}

/// Names the missing variables and their providers, one line each.
fn missing(providers: &[ProviderInfo]) -> Vec<String> {
    let unusable = providers.iter().filter(|one| !one.usable);
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for provider in unusable {
        let variables = provider.variables.join(" or ");
        match lines.iter_mut().find(|(named, _)| *named == variables) {
            Some((_, names)) => names.push(&provider.provider),
            None => lines.push((variables, vec![&provider.provider])),
        }
    }
    let line = |(variables, names): &(String, Vec<&str>)| {
        format!("no key for {}: set {variables}", names.join(" and "))
    };
    lines.iter().map(line).collect()
}

fn table(providers: &[ProviderInfo]) -> Table {
    let mut table = Table::new([
        Column::firm("MODEL"),
        Column::stiff("TOKENS"),
        Column::stiff("IN"),
        Column::stiff("OUT"),
    ]);
    for provider in providers {
        for model in &provider.models {
            table.row([
                TableCell::new(&model.name).part(Part::Name),
                TableCell::new(window(model.window)),
                TableCell::new(dollars(model.input)),
                TableCell::new(dollars(model.output)),
            ]);
        }
        if provider.models.is_empty() {
            let name = format!("{}/<name>", provider.provider);
            table.row([TableCell::new(name).part(Part::Name), blank(), blank(), blank()]);
        }
    }
    table
}

fn blank() -> TableCell {
    TableCell::new("")
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
