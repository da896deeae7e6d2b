//! `offshoot daemon`: the process that holds a data folder.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use offshoot_client::wire::{Reply, Request};
use offshoot_client::{Client, Connection, Error, Place};
use offshoot_daemon::Options;

use super::exit::Exit;
use super::globals::Globals;
use super::show::fields::Fields;
use super::show::{Form, Screen};
use super::trouble::Trouble;
use super::{doctor, duration};

mod gone;

/// How long a daemon stays with nothing to do.
const IDLE: Duration = Duration::from_secs(300);

#[derive(Debug, Subcommand)]
pub(crate) enum Daemon {
    Run(Run),
    Stop(Stop),
    Status(Status),
}

/// Be the daemon of the data folder; commands start it by themselves
#[derive(Debug, Args)]
#[command(after_help = "\
Its first line says whether it listens. All else goes to `daemon.log` in the
data folder.")]
pub(crate) struct Run {
    /// How long it stays with nothing to do [env: OFFSHOOT_IDLE; else 5m]
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    idle: Option<Duration>,
    /// Start it apart from this process, and end
    #[arg(long)]
    apart: bool,
}

/// End the daemon in good order; commands that run are stopped
#[derive(Debug, Args)]
pub(crate) struct Stop {}

/// Say how the daemon is, without starting one
#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Daemon {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, Trouble> {
        let client = globals.client_of_running()?;
        match self {
            // It was run before anything else was done.
            Self::Run(_) => Ok(Exit::Done),
            Self::Stop(stop) => stop.run(&client, screen).await,
            Self::Status(status) => status.run(&client, screen).await,
        }
    }
}

impl Run {
    pub(crate) fn run(self, globals: &Globals) -> Result<ExitCode, Trouble> {
        if self.apart {
            return start_apart();
        }
        let set = std::env::var("OFFSHOOT_IDLE").ok().filter(|set| !set.is_empty());
        let idle = match (self.idle, set) {
            (Some(idle), _) => idle,
            (None, Some(set)) => duration::read(&set)
                .map_err(|error| Trouble::usage(format!("OFFSHOOT_IDLE: {error}")))?,
            (None, None) => IDLE,
        };
        Ok(offshoot_daemon::run(Options { place: globals.place()?, idle }))
    }
}

/// Starts the same command line once more and ends, so that the daemon is left
/// to the system.
fn start_apart() -> Result<ExitCode, Trouble> {
    offshoot_daemon::belong_to_no_task();
    let program = std::env::current_exe().map_err(|error| Trouble::other(&error))?;
    let args = std::env::args_os().skip(1).filter(|arg| arg != "--apart");
    let started = std::process::Command::new(program).args(args).spawn();
    started.map_err(|error| Trouble::other(&error))?;
    Ok(ExitCode::SUCCESS)
}

impl Stop {
    async fn run(self, client: &Client, screen: Screen) -> Result<Exit, Trouble> {
        let stopped = match client.connect().await {
            Ok(daemon) => {
                quit(daemon, client.place()).await?;
                true
            }
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

/// Asks a daemon to end, and waits until its process is gone.
async fn quit(mut daemon: Connection, place: &Place) -> Result<(), Trouble> {
    // Held before it is asked, so that its number cannot mean another process.
    let process = gone::Process::of(daemon.welcome().pid, place);
    match daemon.send(&Request::Quit).await {
        Ok(()) => {}
        // It ends already.
        Err(error) if error.is_broken_off() => {}
        Err(error) => return Err(error.into()),
    }
    match daemon.reply().await {
        Ok(_) => {}
        Err(error) if error.is_broken_off() => {}
        Err(error) => return Err(error.into()),
    }
    process.gone().map_err(|error| Trouble::other(&error))
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
