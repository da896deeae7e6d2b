//! Starting a daemon when it is needed.
//!
//! A client that needs a daemon starts one and waits for its first line. If several
//! clients do, the lock of the data directory lets one of the daemons live. The others
//! report that the directory is held and end, and their clients connect to the winner.

pub(crate) mod wait;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::Command;

use crate::daemon_dir::DaemonDir;
use crate::error::Error;
use crate::wire::WireError;

/// The most bytes of the error output of a daemon that could not start.
const LAST_WORDS: u64 = 16 << 10;

/// Timeout for reading it: another process may hold the daemon's standard error open.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the client starts a daemon when none runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// It starts one, with this program and these arguments.
    OnDemand {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        args: Vec<OsString>,
    },
    /// It starts none.
    Never,
}

/// The first and only line that a daemon writes to its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// The daemon listens.
    Listening,
    /// The daemon cannot run.
    Failed(WireError),
}

impl Start {
    /// Starts a daemon and waits until it reports whether it listens.
    pub(crate) async fn start(&self, dir: &DaemonDir) -> Result<Ready, Error> {
        let Self::OnDemand { program, args } = self else {
            return Err(Error::NotRunning(dir.data().to_owned()));
        };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The daemon outlives its client, and belongs to no task. The process started
        // here only starts the daemon and ends, so that the daemon has no parent here:
        // the processes of a task are known by their parents, too.
        command.current_dir("/").env_remove("OFFSHOOT_TASK");
        let mut daemon = command.spawn().map_err(Error::NotStarted)?;
        let mut line = String::new();
        if let Some(stdout) = daemon.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).await.map_err(Error::NotStarted)?;
        }
        let ready = serde_json::from_str(&line);
        let why = match (&ready, daemon.stderr.take()) {
            (Err(_), Some(stderr)) => last_words(stderr).await,
            // A daemon that listens has closed its standard error.
            _ => String::new(),
        };
        daemon.wait().await.map_err(Error::NotStarted)?;
        ready.map_err(|_| Error::DiedAtStart { why, log: dir.data().join("daemon.log") })
    }
}

/// The error output of a daemon that ended before its first line, on one line.
async fn last_words(stderr: impl AsyncRead + Unpin) -> String {
    let mut said = Vec::new();
    let mut stderr = stderr.take(LAST_WORDS);
    // A part of the output is of use, too.
    tokio::time::timeout(PATIENCE, stderr.read_to_end(&mut said)).await.ok();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => "it did not say why".to_owned(),
        false => lines.join("; "),
    }
}
