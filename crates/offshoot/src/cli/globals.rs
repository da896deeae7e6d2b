//! The options of every command: the data directory, the session and the format.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use offshoot_client::{Client, DaemonDir, DirLookup, Start};

use super::completions;
use super::error::CliError;
use super::show::{Format, Screen};

/// The session of a command line that names none.
const MAIN: &str = "main";

/// The variable that holds the task id inside a task's command.
pub(crate) const AMBIENT: &str = "OFFSHOOT_TASK";

/// The task that this process belongs to, if it runs inside a task's command.
pub(crate) fn ambient() -> Option<String> {
    std::env::var(AMBIENT).ok().filter(|id| !id.is_empty())
}

/// The options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Globals {
    /// Data directory [env: OFFSHOOT_DATA] [default: the user's own]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    data: Option<PathBuf>,
    /// Session [env: OFFSHOOT_SESSION] [default: main]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Global options")]
    #[arg(add = completions::session_names())]
    session: Option<String>,
    /// Print results and errors as JSON
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
}

/// How the session was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionSource {
    /// The `--session` option.
    Argument,
    /// The `OFFSHOOT_SESSION` variable.
    Environment,
    /// Neither: it is the default session.
    Default,
}

impl Globals {
    /// The output format.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }

    /// The session, and how it was chosen.
    pub(crate) fn session(&self) -> Result<(String, SessionSource), CliError> {
        if let Some(session) = &self.session {
            return Ok((session.clone(), SessionSource::Argument));
        }
        let set = std::env::var_os("OFFSHOOT_SESSION").filter(|set| !set.is_empty());
        match set.map(OsString::into_string) {
            None => Ok((MAIN.to_owned(), SessionSource::Default)),
            Some(Ok(set)) => Ok((set, SessionSource::Environment)),
            Some(Err(_)) => Err(CliError::usage("the value of OFFSHOOT_SESSION is not UTF-8")
                .hint("name the session with --session")),
        }
    }

    /// Finds the data directory, and creates it if it is missing.
    pub(crate) fn data_dir(&self) -> Result<DaemonDir, CliError> {
        Ok(DaemonDir::find(self.data.as_deref())?)
    }

    /// Finds the data directory without creating it.
    pub(crate) fn look_up(&self) -> Result<DirLookup, CliError> {
        Ok(DaemonDir::look_up(self.data.as_deref())?)
    }

    /// Makes a client that starts a daemon if none runs.
    pub(crate) fn client(&self) -> Result<Client, CliError> {
        self.client_starting(&[])
    }

    /// Makes a client that starts a daemon with these options if none runs.
    pub(crate) fn client_starting(&self, options: &[&str]) -> Result<Client, CliError> {
        let place = self.data_dir()?;
        let program = std::env::current_exe().map_err(|error| CliError::other(&error))?;
        let data = place.data().to_owned().into_os_string();
        let mut args = vec!["daemon".into(), "run".into(), "--apart".into(), "--data".into(), data];
        args.extend(options.iter().map(OsString::from));
        let client = Client::new(place, Start::OnDemand { program, args }).within(ambient());
        Ok(match self.format() {
            Format::Text => client.on_long_wait(|said| Screen::new(Format::Text).tell(said)),
            Format::Json => client,
        })
    }

    /// Makes a client that starts no daemon and creates no directory.
    pub(crate) fn client_of_running(&self) -> Result<Client, CliError> {
        let (DirLookup::Found(place) | DirLookup::Missing(place)) = self.look_up()?;
        Ok(Client::new(place, Start::Never).within(ambient()))
    }

    /// The typed options that select the data directory and the session.
    pub(crate) fn typed(&self) -> Vec<String> {
        let mut typed = Vec::new();
        if let Some(data) = &self.data {
            typed.extend(["--data".to_owned(), data.to_string_lossy().into_owned()]);
        }
        if let Some(session) = &self.session {
            typed.extend(["--session".to_owned(), session.clone()]);
        }
        typed
    }

    /// Makes global options without a command line.
    pub(crate) fn of(data: Option<PathBuf>, session: Option<String>) -> Self {
        Self { data, session, json: false }
    }
}
