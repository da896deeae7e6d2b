//! `offshoot approvals`: approval requests and grants.

use clap::Subcommand;

use super::context::CommandContext;
use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::Screen;

mod decide;
mod grants;
mod ls;
mod revoke;
mod show;

pub(crate) use decide::{Approve, Deny, send};

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    Ls(ls::Ls),
    Show(show::Show),
    Grants(grants::Grants),
    Revoke(revoke::Revoke),
}

impl Approvals {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let cx = CommandContext::new(globals, screen)?;
        match self {
            Self::Ls(ls) => ls.run(&cx).await,
            Self::Show(show) => show.run(&cx).await,
            Self::Grants(grants) => grants.run(&cx).await,
            Self::Revoke(revoke) => revoke.run(&cx).await,
        }
    }
}
