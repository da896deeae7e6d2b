//! `offshoot approvals`: approval requests and standing grants.

use clap::Subcommand;

use super::desk::Desk;
use super::exit::Exit;
use super::globals::Globals;
use super::show::Screen;
use super::trouble::Trouble;

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
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let desk = Desk::new(globals, screen)?;
        match self {
            Self::Ls(ls) => ls.run(&desk).await,
            Self::Show(show) => show.run(&desk).await,
            Self::Grants(grants) => grants.run(&desk).await,
            Self::Revoke(revoke) => revoke.run(&desk).await,
        }
    }
}
