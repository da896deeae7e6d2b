//! `offshoot sessions`

use clap::Subcommand;

use super::context::CommandContext;
use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::Screen;

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
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let cx = CommandContext::new(globals, screen)?;
        match self {
            Self::Ls(ls) => ls.run(&cx).await,
            Self::Cancel(cancel) => cancel.run(&cx).await,
            Self::Rm(rm) => rm.run(&cx).await,
        }
    }
}
