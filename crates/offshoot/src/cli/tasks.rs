//! `offshoot tasks`: list, inspect, wait for, message and stop tasks.

use clap::Subcommand;

use super::context::CommandContext;
use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::Screen;

mod approvals;
mod cancel;
mod conversation;
mod ls;
mod progress;
mod send;
mod show;
mod tail;
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
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let cx = CommandContext::new(globals, screen)?;
        match self {
            Self::Ls(ls) => ls.run(&cx).await,
            Self::Show(show) => show.run(&cx).await,
            Self::Tail(tail) => tail.run(&cx).await,
            Self::Wait(wait) => wait.run(&cx).await,
            Self::Send(send) => send.run(&cx).await,
            Self::Cancel(cancel) => cancel.run(&cx).await,
            Self::Why(why) => why.run(&cx).await,
        }
    }
}
