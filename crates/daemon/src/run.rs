//! The life of a daemon.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use offshoot_backends::raise_file_limit;
use offshoot_client::wire::{Code, WireError};
use offshoot_client::{DaemonDir, Ready};
use tokio::signal::unix::{SignalKind, signal};

use crate::accept::accept;
use crate::house::{Ending, House};
use crate::post::Post;
use crate::{inherited, limits, logfile};

/// Why a daemon ends whose data folder was moved or removed.
const HOMELESS: &str = "its data folder is gone";

/// Why a daemon ends whose store is damaged or was taken away.
const UNWRITABLE: &str = "its store cannot be used any more";

/// What a daemon is told when it is started.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The folder it holds.
    pub dir: DaemonDir,
    /// How long it stays when there is nothing to do.
    pub idle: Duration,
    /// The time limit of git on a worktree, if it is not the usual one.
    pub git_limit: Option<Duration>,
}

/// Runs a daemon to its end. Its first and only line of output says whether it
/// listens; everything else goes to its log.
pub fn run(options: DaemonOptions) -> ExitCode {
    // Fails if it leads a group already: then it was not started to stay.
    rustix::process::setsid().ok();
    inherited::close();
    limits::note_open_files();
    raise_file_limit();
    let log = logfile::install(options.dir.data());
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("offshoot-daemon")
        .enable_all()
        .build();
    let executor = match built {
        Ok(executor) => executor,
        Err(error) => {
            return fail(WireError::from_error(Code::Other, &error));
        }
    };
    let ended = executor.block_on(live(options, log));
    executor.shutdown_timeout(Duration::from_secs(1));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => fail(fault),
    }
}

/// Says that a daemon cannot run, to its log and to whoever started it.
pub fn fail(fault: WireError) -> ExitCode {
    match fault.code {
        // Somebody else was first; that is how races end.
        Code::Locked => tracing::debug!(%fault, "another daemon holds the folder"),
        _ => tracing::error!(%fault, "the daemon cannot run"),
    }
    say(&Ready::Failed(fault));
    ExitCode::FAILURE
}

/// Tells the starter, and lets go of it.
fn say(ready: &Ready) {
    if let Ok(mut line) = serde_json::to_string(ready) {
        line.push('\n');
        let mut out = std::io::stdout().lock();
        // A starter that has gone does not need it.
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).ok();
    }
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
    if let Ok(null) = null {
        rustix::stdio::dup2_stdout(&null).ok();
        // Whoever starts it hears there why it could not start.
        if matches!(ready, Ready::Listening) {
            rustix::stdio::dup2_stderr(&null).ok();
        }
    }
}

async fn live(options: DaemonOptions, log: logfile::LogFile) -> Result<(), WireError> {
    let place = options.dir.clone();
    let house = House::open(options, log).await?;
    let mut post = Post::take(&place)?;
    let mut stop = Signals::new()?;
    tracing::info!(pid = std::process::id(), data = %place.data().display(), "listening");
    say(&Ready::Listening);
    let why = loop {
        tokio::select! {
            never = accept(&house, &post.listener) => match never {},
            () = house.idle.until_idle(&house) => break "nothing is left to do",
            () = house.leave.cancelled() => break "it was asked to",
            fault = house.failed() => {
                tracing::error!(%fault, "the daemon cannot go on");
                break UNWRITABLE;
            }
            signal = stop.next() => break signal,
            () = post.lost(&place) => match post.again(&place) {
                Ok(Some(next)) => post = next,
                Ok(None) => break HOMELESS,
                Err(fault) => tracing::warn!(%fault, "nobody can reach the daemon"),
            },
        }
    };
    tracing::info!(why, "the daemon ends");
    // Whoever comes now finds nobody, and starts the next one.
    post.give_up(&place);
    let stopped = house
        .shut_down(match why {
            HOMELESS | UNWRITABLE => Ending::Homeless,
            _ => Ending::InOrder,
        })
        .await;
    tracing::info!("the daemon has ended");
    house.tell_stopped(stopped).await;
    Ok(())
}

/// The signals that end a daemon in good order.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// Sent on purpose, or by the terminal of one that runs in the foreground:
    /// one that stays has no terminal. `None` if whoever started it has it
    /// ignored, as `nohup` does.
    hang_up: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Result<Self, WireError> {
        let on = |kind| signal(kind).map_err(|error| WireError::from_error(Code::Other, &error));
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hang_up: match inherited::ignores_hang_up() {
                true => None,
                false => Some(on(SignalKind::hangup())?),
            },
        })
    }

    async fn next(&mut self) -> &'static str {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            _ = hung_up => "SIGHUP",
        }
    }
}

/// The house is shared by all its connections.
pub(crate) type Shared = Arc<House>;
