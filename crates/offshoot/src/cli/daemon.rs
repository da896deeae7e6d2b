//! `offshoot daemon`: the process that holds a data directory.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use offshoot_client::wire::{Code, Reply, Request, ShutdownReport, WireError};
use offshoot_client::{Client, Connection, DaemonDir, Error};
use offshoot_daemon::DaemonOptions;
use offshoot_models::Keys;

use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::fields::Fields;
use super::show::{Format, Screen};
use super::{doctor, duration};

mod gone;

/// The time that a daemon without work stays alive.
const IDLE: Duration = Duration::from_secs(300);

/// The delay before the user is told why `daemon stop` waits.
const LATE: Duration = Duration::from_secs(3);

#[derive(Debug, Subcommand)]
pub(crate) enum Daemon {
    Run(Run),
    Stop(Stop),
    Status(Status),
}

/// Run the daemon in the foreground; other commands start it on demand
#[derive(Debug, Args)]
#[command(after_help = "\
The first line of output says whether the daemon listens. All other messages go
to `daemon.log` in the data directory.")]
pub(crate) struct Run {
    /// End after this time without work [env: OFFSHOOT_IDLE] [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = duration::read)]
    idle: Option<Duration>,
    /// Start the daemon in the background, and exit
    #[arg(long)]
    apart: bool,
}

/// Stop the daemon and all running commands
#[derive(Debug, Args)]
pub(crate) struct Stop {}

/// Show the status of the daemon without starting one
#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Daemon {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        let client = globals.client_of_running()?;
        match self {
            // `main` runs the daemon before it gets here.
            Self::Run(_) => Ok(Exit::Done),
            Self::Stop(stop) => stop.run(&client, screen).await,
            Self::Status(status) => status.run(&client, screen).await,
        }
    }
}

impl Run {
    pub(crate) fn run(self, globals: &Globals) -> Result<ExitCode, CliError> {
        if self.apart {
            return start_apart();
        }
        let ready = || -> Result<DaemonOptions, CliError> {
            let idle = match self.idle {
                Some(idle) => idle,
                None => set_time("OFFSHOOT_IDLE")?.unwrap_or(IDLE),
            };
            let git_limit = set_time("OFFSHOOT_GIT_LIMIT")?;
            Ok(DaemonOptions { dir: globals.data_dir()?, idle, git_limit })
        };
        match ready() {
            Ok(options) => Ok(offshoot_daemon::run(options)),
            Err(error) => {
                if let CliError::Report { fault, .. } = &error {
                    // The process that started the daemon waits for this line.
                    offshoot_daemon::fail((**fault).clone());
                }
                Err(error)
            }
        }
    }
}

/// Reads a duration from an environment variable, if it is set.
fn set_time(variable: &str) -> Result<Option<Duration>, CliError> {
    let Some(set) = std::env::var(variable).ok().filter(|set| !set.is_empty()) else {
        return Ok(None);
    };
    let read = duration::read(&set).map_err(|error| {
        CliError::usage(format!("{variable} is {set:?}, which is not a duration: {error}"))
    });
    read.map(Some)
}

/// Starts the same command line once more without `--apart`, and returns.
///
/// The system adopts that daemon. Keys come with requests, so the daemon's
/// environment, which other processes of the user can read, has none.
fn start_apart() -> Result<ExitCode, CliError> {
    offshoot_daemon::belong_to_no_task();
    let program = std::env::current_exe().map_err(|error| CliError::other(&error))?;
    let args = std::env::args_os().skip(1).filter(|arg| arg != "--apart");
    let mut daemon = std::process::Command::new(program);
    for name in Keys::names() {
        daemon.env_remove(name);
    }
    let started = daemon.args(args).spawn();
    started.map_err(|error| CliError::other(&error))?;
    Ok(ExitCode::SUCCESS)
}

impl Stop {
    async fn run(self, client: &Client, screen: Screen) -> Result<Exit, CliError> {
        let stopped = match client.connect().await {
            Ok(daemon) => Some(quit(daemon, client.dir(), screen).await?),
            Err(Error::NotRunning(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let unsettled = stopped.as_ref().map_or(0, |stopped| stopped.unsettled);
        match screen.format {
            Format::Json => screen.json(&serde_json::json!({
                "stopped": stopped.is_some(),
                "unsettled": unsettled,
            }))?,
            Format::Text if stopped.is_none() => screen.say("the daemon is not running\n")?,
            Format::Text if unsettled == 0 => screen.say("the daemon has stopped\n")?,
            Format::Text => {}
        }
        match stopped {
            Some(stopped) if unsettled > 0 => Err(unwritten(stopped).into()),
            _ => Ok(Exit::Done),
        }
    }
}

/// The error for a daemon that could not store the end of all its tasks.
fn unwritten(stopped: ShutdownReport) -> WireError {
    let tasks = match stopped.unsettled {
        1 => "1 task".to_owned(),
        several => format!("{several} tasks"),
    };
    let text = format!("the daemon has stopped, but could not store the end of {tasks}");
    let causes = stopped.why.into_iter().collect();
    WireError { causes, ..WireError::new(Code::Store, text) }.hint(
        "nothing is lost: the next command starts a daemon that settles these tasks; if the disk \
         is full, free some space first",
    )
}

/// Stops a daemon, and waits until its process is gone.
pub(super) async fn quit(
    mut daemon: Connection,
    place: &DaemonDir,
    screen: Screen,
) -> Result<ShutdownReport, CliError> {
    let pid = daemon.welcome().pid;
    // Open the process before the request, so that its number cannot be reused.
    let process = gone::Process::of(pid, place);
    let mut stopped = ShutdownReport::default();
    let ended = async {
        daemon.send(&Request::Quit).await?;
        loop {
            match daemon.reply().await? {
                Reply::Shutdown(told) => stopped = told,
                _ => return Ok(()),
            }
        }
    };
    let late = async {
        tokio::time::sleep(LATE).await;
        screen.tell(&format!("waiting for the daemon (process {pid}) to stop its commands"));
        std::future::pending().await
    };
    let ended: Result<(), Error> = tokio::select! {
        ended = ended => ended,
        never = late => never,
    };
    match ended {
        Ok(()) => {}
        // The daemon is already ending.
        Err(error) if error.is_broken_off() => {}
        Err(error) => return Err(error.into()),
    }
    process.gone().map_err(|error| CliError::other(&error))?;
    Ok(stopped)
}

impl Status {
    async fn run(self, client: &Client, screen: Screen) -> Result<Exit, CliError> {
        let status = match client.ask(&Request::Status).await? {
            Reply::Status(status) => status,
            _ => return Err(Error::WrongAnswer.into()),
        };
        match screen.format {
            Format::Text => {
                let mut fields = Fields::default();
                doctor::daemon(&mut fields, &status, Timestamp::now());
                fields.add("data", &status.data);
                fields.add("socket", &status.socket);
                fields.add("log", &status.log.path);
                screen.say(&fields.render(screen.out))?;
            }
            Format::Json => screen.json(&status)?,
        }
        Ok(Exit::Done)
    }
}
