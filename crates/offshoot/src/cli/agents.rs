//! `offshoot agents`: agent profiles.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use offshoot_client::Error;
use offshoot_client::wire::{Code, Profile, ProfileList, Reply, Request, WireError};

use super::context::CommandContext;
use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::fields::Fields;
use super::show::table::{Column, Table, TableCell};
use super::show::{Colour, Format, Part, Screen, size, text};
use super::{completions, directory};

/// The mode of a profile that narrows nothing.
const AUTO: &str = "auto";

/// The number of profiles that the error for an unknown profile names.
const NAMED: usize = 40;

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    Ls(Ls),
    Show(Show),
}

/// List the profiles available in a directory
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  offshoot agents ls
  offshoot run --profile explore 'Where is the parser?'

A profile is a Markdown file with front matter, in .offshoot/agents or
.claude/agents of the project, or in offshoot/agents of your configuration
directory. A profile of a project only narrows permissions until you run
`offshoot trust` there. Files that cannot be read are listed below the table.
The mode `ask (--mode)` is that of `run --mode`, by default `ask`.")]
pub(crate) struct Ls {
    /// Directory [default: the current one]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Show a profile in full
#[derive(Debug, Args)]
#[command(after_help = "Example:
  offshoot agents show explore")]
pub(crate) struct Show {
    /// Name of the profile
    #[arg(value_name = "NAME", add = completions::profiles())]
    name: String,
}

impl Agents {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let cx = CommandContext::new(globals, screen)?;
        match self {
            Self::Ls(ls) => ls.run(&cx).await,
            Self::Show(show) => show.run(&cx).await,
        }
    }
}

/// The profiles available in a directory.
pub(crate) async fn profiles(cx: &CommandContext, folder: String) -> Result<ProfileList, CliError> {
    match cx.ask(&Request::Profiles { folder }).await? {
        Reply::Profiles(profiles) => Ok(profiles),
        _ => Err(Error::WrongAnswer.into()),
    }
}

impl Ls {
    async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let folder = directory::resolve(self.folder)?;
        if !std::path::Path::new(&folder).is_dir() {
            return Err(CliError::usage(format!("{} is not a directory", text::line(&folder))));
        }
        let found = profiles(cx, folder).await?;
        if cx.screen.format == Format::Json {
            cx.screen.json(&found)?;
            return Ok(Exit::Done);
        }
        cx.screen.say(&table(&found.profiles).render(cx.screen.width, cx.screen.out))?;
        for broken in &found.broken {
            let label = cx.screen.err.paint(Part::Bad, "broken");
            cx.screen.remark(&format!("{label}: {}", text::lines(broken).trim_end()));
        }
        if found.profiles.iter().any(|profile| !profile.trusted) {
            let trust = cx.command("trust", &[&found.trust.folder]);
            cx.screen.remark(&format!(
                "untrusted profiles only narrow permissions; to trust them: {trust}"
            ));
        }
        Ok(Exit::Done)
    }
}

/// Makes a table of profiles.
pub(crate) fn table(profiles: &[Profile]) -> Table {
    let mut table = Table::new([
        Column::firm("NAME"),
        Column::stiff("ORIGIN"),
        Column::stiff("TRUSTED"),
        Column::stiff("MODE"),
        Column::elastic("DESCRIPTION"),
    ]);
    for profile in profiles {
        table.row([
            TableCell::new(&profile.name).part(Part::Name),
            TableCell::new(&profile.origin),
            TableCell::new(if profile.trusted { "yes" } else { "no" }),
            TableCell::new(if profile.mode == AUTO { "ask (--mode)" } else { &profile.mode }),
            TableCell::new(&profile.description),
        ]);
    }
    table
}

impl Show {
    async fn run(self, cx: &CommandContext) -> Result<Exit, CliError> {
        let found = profiles(cx, directory::resolve(None)?).await?;
        let is_meant = |one: &&Profile| one.name.to_lowercase() == self.name.trim().to_lowercase();
        let Some(profile) = found.profiles.iter().find(is_meant) else {
            return Err(missing(cx, &self.name, &found).into());
        };
        cx.answer(profile, |profile| shown(profile, cx.screen.out))?;
        Ok(Exit::Done)
    }
}

/// The error for an unknown profile. It names the known profiles, and the files
/// of that name that cannot be read.
fn missing(cx: &CommandContext, name: &str, found: &ProfileList) -> WireError {
    let name = name.trim();
    let (meant, others): (Vec<_>, Vec<_>) =
        found.broken.iter().cloned().partition(|broken| is_file_of(broken, name));
    let mut fault =
        WireError::new(Code::NotFound, format!("there is no profile {name:?} in this directory"));
    fault.causes = meant;
    let mut names: Vec<_> = found.profiles.iter().map(|one| one.name.as_str()).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let broken = match others.len() {
        0 => String::new(),
        many => format!("; {} cannot be read", size::count(many as u64, "other")),
    };
    let ls = cx.command_anywhere("agents ls", &[]);
    fault.hint(format!("available: {}{more}{broken}; {ls} lists all", names.join(", ")))
}

/// Whether a broken file is the one that a profile of this name would have.
fn is_file_of(broken: &str, name: &str) -> bool {
    let path = broken.split_once(".md:").map_or("", |(path, _)| path);
    let stem = path.rsplit('/').next().unwrap_or_default();
    !stem.is_empty() && stem.to_lowercase() == name.to_lowercase()
}

fn shown(profile: &Profile, colour: Colour) -> String {
    let mut fields = Fields::default();
    fields.add("name", &profile.name);
    fields.add("description", &profile.description);
    let from = match &profile.path {
        Some(path) => format!("{}: {path}", profile.origin),
        None => profile.origin.clone(),
    };
    fields.add("origin", from);
    fields.add("trusted", if profile.trusted { "yes" } else { "no: it only narrows permissions" });
    fields.add_some("model", profile.model.as_ref());
    fields.add(
        "mode",
        match profile.mode.as_str() {
            AUTO => "that of `run --mode`, by default ask; as a child, that of its parent",
            mode => mode,
        },
    );
    let list = |all: &Vec<String>| match all.is_empty() {
        true => "none".to_owned(),
        false => all.join(", "),
    };
    fields.add("tools", profile.tools.as_ref().map_or_else(|| "all".to_owned(), list));
    if !profile.rules.is_empty() {
        fields.add("rules", profile.rules.join("\n"));
    }
    fields.add_some("approver", profile.asks.as_ref());
    fields.add_some("budget", profile.budget.as_ref());
    if profile.worktree {
        fields.add("isolation", "a worktree of its own");
    }
    fields.add_some("spawns", profile.agents.as_ref().map(list));
    if profile.dialect != "offshoot" {
        fields.add("dialect", &profile.dialect);
    }
    fields.add_some("config", profile.config.as_ref().map(|schema| format!("{schema:#}")));
    if !profile.notes.is_empty() {
        fields.add("notes", profile.notes.join("\n"));
    }
    fields.add("prompt", &profile.prompt);
    fields.render(colour)
}
