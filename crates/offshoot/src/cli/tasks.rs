//! `offshoot tasks`: everything about tasks that were sent off.

use clap::Subcommand;

use super::desk::Desk;
use super::exit::Exit;
use super::globals::Globals;
use super::show::Screen;
use super::trouble::Trouble;

mod asks;
mod cancel;
mod ls;
mod progress;
mod send;
mod show;
mod tail;
mod talk;
mod wait;
mod why;

pub(super) use cancel::Stopping;

#[derive(Debug, Subcommand)]
pub(crate) enum Tasks {
    Ls(ls::Ls),
    Show(show::Show),
    Tail(tail::Tail),
    Wait(wait::Wait),
    Send(send::Send),
    Cancel(cancel::Cancel),
    Why(why::Why),
}

impl Tasks {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let desk = Desk::new(globals, screen)?;
        match self {
            Self::Ls(ls) => ls.run(&desk).await,
            Self::Show(show) => show.run(&desk).await,
            Self::Tail(tail) => tail.run(&desk).await,
            Self::Wait(wait) => wait.run(&desk).await,
            Self::Send(send) => send.run(&desk).await,
            Self::Cancel(cancel) => cancel.run(&desk).await,
            Self::Why(why) => why.run(&desk).await,
        }
    }
}
