//! `offshoot daemon`: the process that holds a data folder.

use clap::{Args, Subcommand};
use jiff::Timestamp;
use offshoot_client::wire::{Reply, Request};
use offshoot_client::{Client, Error};

use super::doctor;
use super::exit::Exit;
use super::globals::Globals;
use super::show::fields::Fields;
use super::show::{Form, Screen};
use super::trouble::Trouble;

#[derive(Debug, Subcommand)]
pub(crate) enum Daemon {
    Run(Run),
    Stop(Stop),
    Status(Status),
}

/// Be the daemon; commands start it by themselves
#[derive(Debug, Args)]
pub(crate) struct Run {}

/// End the daemon in good order
///
/// Tasks that can go on are taken up by the next one. Commands are stopped.
#[derive(Debug, Args)]
pub(crate) struct Stop {}

/// Say how the daemon is, without starting one
#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Daemon {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let client = globals.client_of_running()?;
        match self {
            Self::Run(run) => run.run(globals),
            Self::Stop(stop) => stop.run(&client, screen).await,
            Self::Status(status) => status.run(&client, screen).await,
        }
    }
}

impl Run {
    pub(crate) fn run(self, globals: &Globals) -> Result<Exit, Trouble> {
        let _place = globals.place()?;
        Err(Trouble::usage("not here yet"))
    }
}

impl Stop {
    async fn run(self, client: &Client, screen: Screen) -> Result<Exit, Trouble> {
        let stopped = match client.ask(&Request::Quit).await {
            Ok(_) => true,
            Err(Error::NotRunning(_)) => false,
            Err(error) => return Err(error.into()),
        };
        match screen.form {
            Form::People if stopped => screen.say("the daemon has ended\n")?,
            Form::People => screen.say("no daemon runs\n")?,
            Form::Json => screen.json(&serde_json::json!({ "stopped": stopped }))?,
        }
        Ok(Exit::Done)
    }
}

impl Status {
    async fn run(self, client: &Client, screen: Screen) -> Result<Exit, Trouble> {
        let status = match client.ask(&Request::Status).await? {
            Reply::Status(status) => status,
            _ => return Err(Error::WrongAnswer.into()),
        };
        match screen.form {
            Form::People => {
                let mut fields = Fields::default();
                doctor::daemon(&mut fields, &status, Timestamp::now());
                fields.add("data", &status.data);
                fields.add("socket", &status.socket);
                fields.add("log", &status.log.path);
                screen.say(&fields.render(screen.out))?;
            }
            Form::Json => screen.json(&status)?,
        }
        Ok(Exit::Done)
    }
}
