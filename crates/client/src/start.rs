//! Starting a daemon when it is needed.
//!
//! Whoever needs it starts one and waits for its first line. If several do, the
//! folder's lock lets one of the daemons live; the others say that it is held
//! and end, and their starters connect to the winner.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::error::Error;
use crate::place::Place;
use crate::wire::Fault;

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
    Failed(Fault),
}

impl Start {
    /// Starts a daemon and waits until it listens, or says why not.
    pub(crate) async fn start(&self, place: &Place) -> Result<Ready, Error> {
        let Self::OnDemand { program, args } = self else {
            return Err(Error::NotRunning(place.data().to_owned()));
        };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // It outlives whoever starts it, and belongs to no task. What is started
        // here only starts the daemon and ends, so that the daemon is nobody's
        // child: the members of a task are known by their parents, too.
        command.current_dir("/").env_remove("OFFSHOOT_TASK");
        let mut daemon = command.spawn().map_err(Error::NotStarted)?;
        let mut line = String::new();
        if let Some(stdout) = daemon.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).await.map_err(Error::NotStarted)?;
        }
        let status = daemon.wait().await.map_err(Error::NotStarted)?;
        match serde_json::from_str(&line) {
            Ok(ready) => Ok(ready),
            Err(_) => {
                let log = place.data().join("daemon.log");
                Err(Error::Stillborn { status: status.to_string(), log })
            }
        }
    }
}
