//! `offshoot sessions`

use clap::Subcommand;

use super::desk::Desk;
use super::exit::Exit;
use super::globals::Globals;
use super::show::Screen;
use super::trouble::Trouble;

mod cancel;
mod ls;
mod rm;

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    Ls(ls::Ls),
    Cancel(cancel::Cancel),
    Rm(rm::Rm),
}

impl Sessions {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let desk = Desk::new(globals, screen)?;
        match self {
            Self::Ls(ls) => ls.run(&desk).await,
            Self::Cancel(cancel) => cancel.run(&desk).await,
            Self::Rm(rm) => rm.run(&desk).await,
        }
    }
}
