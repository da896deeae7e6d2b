//! Starting a daemon when it is needed.
//!
//! Whoever needs it starts one and waits for its first line. If several do, the
//! folder's lock lets one of the daemons live; the others say that it is held
//! and end, and their starters connect to the winner.

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

/// How much is read of what a daemon that could not start says of it.
const LAST_WORDS: u64 = 16 << 10;

/// How long those may take: somebody else may have its standard error, too.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a daemon is started when none runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// With this program and these arguments.
    OnDemand {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        args: Vec<OsString>,
    },
    /// Never.
    Never,
}

/// The first and only line that a daemon writes to its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ready {
    /// It listens.
    Listening,
    /// It cannot run.
    Failed(WireError),
}

impl Start {
    /// Starts a daemon and waits until it listens, or says why not.
    pub(crate) async fn start(&self, dir: &DaemonDir) -> Result<Ready, Error> {
        let Self::OnDemand { program, args } = self else {
            return Err(Error::NotRunning(dir.data().to_owned()));
        };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // It outlives whoever starts it, and belongs to no task. What is started
        // here only starts the daemon and ends, so that the daemon is nobody's
        // child: the members of a task are known by their parents, too.
        command.current_dir("/").env_remove("OFFSHOOT_TASK");
        let mut daemon = command.spawn().map_err(Error::NotStarted)?;
        let mut line = String::new();
        if let Some(stdout) = daemon.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).await.map_err(Error::NotStarted)?;
        }
        let ready = serde_json::from_str(&line);
        let why = match (&ready, daemon.stderr.take()) {
            (Err(_), Some(stderr)) => last_words(stderr).await,
            // One that listens has let go of it.
            _ => String::new(),
        };
        daemon.wait().await.map_err(Error::NotStarted)?;
        ready.map_err(|_| Error::DiedAtStart { why, log: dir.data().join("daemon.log") })
    }
}

/// What a daemon said before it ended without its first line, on one line.
async fn last_words(stderr: impl AsyncRead + Unpin) -> String {
    let mut said = Vec::new();
    let mut stderr = stderr.take(LAST_WORDS);
    // What was said before it broke off is worth as much.
    tokio::time::timeout(PATIENCE, stderr.read_to_end(&mut said)).await.ok();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => "it did not say why".to_owned(),
        false => lines.join("; "),
    }
}
