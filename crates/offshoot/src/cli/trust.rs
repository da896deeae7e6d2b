//! `offshoot trust`

use std::path::PathBuf;

use clap::Args;
use offshoot_client::Error;
use offshoot_client::wire::{DirTrust as Folder, Profile, Reply, Request, TrustChange};

use super::context::CommandContext;
use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::table::{Column, Table, TableCell};
use super::show::{Format, Screen, text};
use super::{agents, directory};

/// Let what a project folder brings do more than narrow
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot agents ls ~/project            # look first
  offshoot trust ~/project
  offshoot trust --remove ~/project
  offshoot trust --list

A folder is trusted with what it brings now: its profiles. If any of that
changes, it is not trusted any more until you say so again. What it brings is
shown. What a task runs cannot trust a folder: that is for a person.")]
pub(crate) struct Trust {
    /// The folder; the present one if it is not said
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Trust it no more
    #[arg(long, conflicts_with = "list")]
    remove: bool,
    /// List the folders that are trusted
    #[arg(long, conflicts_with = "folder")]
    list: bool,
}

impl Trust {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let cx = CommandContext::new(globals, screen)?;
        if self.list {
            return list(&cx).await;
        }
        let folder = directory::resolve(self.folder)?;
        let trusting = if self.remove { TrustChange::Remove } else { TrustChange::Trust };
        let folders = asked(&cx, &Request::Trust { folder: folder.clone(), trusting }).await?;
        let shown = text::line(&folder);
        let said = match (trusting, folders.is_empty()) {
            (TrustChange::Remove, true) => format!("{shown} was not trusted\n"),
            (TrustChange::Remove, false) => format!("{shown} is not trusted any more\n"),
            (TrustChange::Trust, true) => {
                format!("{shown} brings nothing: there is nothing to trust\n")
            }
            (TrustChange::Trust, false) => format!("{shown} is trusted with this:\n"),
        };
        cx.report(&serde_json::json!({ "folders": folders }), |_| said)?;
        if trusting == TrustChange::Trust && !folders.is_empty() && screen.format == Format::Text {
            let mut brings = agents::profiles(&cx, folder).await?.profiles;
            brings.retain(|profile| profile.origin == "project");
            screen.say(&agents::table(&brings).render(screen.width, screen.out))?;
            screen.say(&rules(&brings))?;
        }
        Ok(Exit::Done)
    }
}

/// The rules of profiles, a line each. They are what trust is about: what is
/// allowed by them is not asked for.
fn rules(profiles: &[Profile]) -> String {
    let of = |profile: &Profile| {
        let name = text::line(&profile.name);
        profile.rules.iter().map(move |rule| format!("{name}: {}\n", text::line(rule))).collect()
    };
    profiles.iter().map(of).collect::<Vec<String>>().concat()
}

async fn asked(cx: &CommandContext, request: &Request) -> Result<Vec<Folder>, CliError> {
    match cx.ask(request).await? {
        Reply::Trust { folders } => Ok(folders),
        _ => Err(Error::WrongAnswer.into()),
    }
}

async fn list(cx: &CommandContext) -> Result<Exit, CliError> {
    let folders = asked(cx, &Request::Trusted).await?;
    if cx.screen.format == Format::Json {
        cx.screen.json(&serde_json::json!({ "folders": folders }))?;
    } else if folders.is_empty() {
        cx.screen.tell("no folder is trusted");
    } else {
        let mut table = Table::new([Column::stiff("TRUSTED"), Column::elastic("FOLDER")]);
        for folder in &folders {
            let trusted = if folder.trusted { "yes" } else { "no: it has changed" };
            table.row([TableCell::new(trusted), TableCell::new(&folder.folder)]);
        }
        cx.screen.say(&table.render(cx.screen.width, cx.screen.out))?;
    }
    Ok(Exit::Done)
}
