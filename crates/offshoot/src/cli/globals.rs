//! What every command takes: the data folder, the session, and the form of the
//! answer.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use offshoot_client::{Client, DaemonDir, DirLookup, Start};

use super::completions;
use super::error::CliError;
use super::show::{Format, Screen};

/// The session of whoever names none.
const MAIN: &str = "main";

/// In which variable a command finds the task that it is.
pub(crate) const AMBIENT: &str = "OFFSHOOT_TASK";

/// The task of whose command this process is one, if it is.
pub(crate) fn ambient() -> Option<String> {
    std::env::var(AMBIENT).ok().filter(|id| !id.is_empty())
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Globals {
    /// Data folder [env: OFFSHOOT_DATA; else the user's own]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    data: Option<PathBuf>,
    /// Session [env: OFFSHOOT_SESSION; else `main`]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Everywhere")]
    #[arg(add = completions::session_names())]
    session: Option<String>,
    /// Answer in JSON, and tell errors so on the standard error
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
}

/// Who chose the session.
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
    /// How the answer is given.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }

    /// The session, and who chose it.
    pub(crate) fn session(&self) -> Result<(String, SessionSource), CliError> {
        if let Some(session) = &self.session {
            return Ok((session.clone(), SessionSource::Argument));
        }
        let set = std::env::var_os("OFFSHOOT_SESSION").filter(|set| !set.is_empty());
        match set.map(OsString::into_string) {
            None => Ok((MAIN.to_owned(), SessionSource::Default)),
            Some(Ok(set)) => Ok((set, SessionSource::Environment)),
            Some(Err(_)) => Err(CliError::usage("OFFSHOOT_SESSION is set to what is not UTF-8")
                .hint("name the session with --session")),
        }
    }

    /// The data folder, made if it is not there.
    pub(crate) fn data_dir(&self) -> Result<DaemonDir, CliError> {
        Ok(DaemonDir::find(self.data.as_deref())?)
    }

    /// The data folder if it is there, else where it would be.
    pub(crate) fn look_up(&self) -> Result<DirLookup, CliError> {
        Ok(DaemonDir::look_up(self.data.as_deref())?)
    }

    /// A client that starts a daemon if none runs.
    pub(crate) fn client(&self) -> Result<Client, CliError> {
        self.client_starting(&[])
    }

    /// A client that starts a daemon with these options if none runs.
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

    /// A client of the daemon that runs, if one does. No folder is made for it.
    pub(crate) fn client_of_running(&self) -> Result<Client, CliError> {
        let (DirLookup::Found(place) | DirLookup::Missing(place)) = self.look_up()?;
        Ok(Client::new(place, Start::Never).within(ambient()))
    }

    /// The options that a further command needs to mean the same place, as they
    /// were typed.
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

    /// Globals from elsewhere than a whole command line.
    pub(crate) fn of(data: Option<PathBuf>, session: Option<String>) -> Self {
        Self { data, session, json: false }
    }
}
