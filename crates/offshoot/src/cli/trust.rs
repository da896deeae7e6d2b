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

/// Trust the profiles of a project directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot agents ls ~/project            # look first
  offshoot trust ~/project
  offshoot trust --remove ~/project
  offshoot trust --list

Trusted profiles may also allow actions; untrusted ones only narrow permissions.
Trust covers the profiles as they are now, which are printed. If one of them
changes, the directory is no longer trusted until you trust it again. Only a
person can trust a directory: a command that an agent or a task runs is refused.")]
pub(crate) struct Trust {
    /// Directory [default: the current one]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Stop trusting the directory
    #[arg(long, conflicts_with = "list")]
    remove: bool,
    /// List trusted directories
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
            (TrustChange::Remove, false) => format!("{shown} is no longer trusted\n"),
            (TrustChange::Trust, true) => {
                format!("{shown} has no profiles: there is nothing to trust\n")
            }
            (TrustChange::Trust, false) => format!("{shown} is trusted with these profiles:\n"),
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

/// Formats the rules of profiles, one per line.
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
        cx.screen.tell("no directory is trusted");
    } else {
        let mut table = Table::new([Column::stiff("TRUSTED"), Column::elastic("DIRECTORY")]);
        for folder in &folders {
            let trusted = if folder.trusted { "yes" } else { "no: changed since" };
            table.row([TableCell::new(trusted), TableCell::new(&folder.folder)]);
        }
        cx.screen.say(&table.render(cx.screen.width, cx.screen.out))?;
    }
    Ok(Exit::Done)
}
