//! The lifecycle of a daemon: start, recover, listen, and end in good order.

mod inherited;
mod signals;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use offshoot_backends::raise_file_limit;
use offshoot_client::Ready;
use offshoot_client::wire::{Code, WireError};

use self::signals::ShutdownSignals;
pub use crate::host::DaemonOptions;
use crate::host::{Daemon, ShutdownMode};
use crate::listener::{Acceptor, Listener};
use crate::log_file::LogFile;
use crate::{limits, log_file};

/// The reason to end when the data directory was moved or removed.
const DIRECTORY_GONE: &str = "its data directory is gone";

/// The reason to end when the store is damaged or was taken away.
const STORE_FAILED: &str = "its store cannot be used any more";

/// Runs a daemon to its end. Its first and only line of output says whether it
/// listens; everything else goes to its log.
pub fn run(options: DaemonOptions) -> ExitCode {
    // Fails for a process that leads a group already: it was started in the
    // foreground.
    rustix::process::setsid().ok();
    inherited::close_inherited_files();
    limits::note_open_files();
    raise_file_limit();
    let log = log_file::install(options.dir.data());
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
    let ended = executor.block_on(serve(options, log));
    executor.shutdown_timeout(Duration::from_secs(1));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error),
    }
}

/// Reports that a daemon cannot run, to its log and to the process that started it.
pub fn fail(error: WireError) -> ExitCode {
    match error.code {
        // Another daemon was first; that is how races end.
        Code::Locked => tracing::debug!(%error, "another daemon holds the directory"),
        _ => tracing::error!(%error, "the daemon cannot run"),
    }
    report_start(&Ready::Failed(error));
    ExitCode::FAILURE
}

/// Tells the process that started the daemon whether it listens, and closes the
/// standard output.
fn report_start(ready: &Ready) {
    if let Ok(mut line) = serde_json::to_string(ready) {
        line.push('\n');
        let mut out = std::io::stdout().lock();
        // A starter that has gone does not need it.
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).ok();
    }
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
    if let Ok(null) = null {
        rustix::stdio::dup2_stdout(&null).ok();
        // The starter reads there why a daemon could not start.
        if matches!(ready, Ready::Listening) {
            rustix::stdio::dup2_stderr(&null).ok();
        }
    }
}

/// Serves until there is a reason to end, and ends.
async fn serve(options: DaemonOptions, log: LogFile) -> Result<(), WireError> {
    let dir = options.dir.clone();
    let daemon = Daemon::open(options, log).await?;
    let acceptor = Acceptor::new(daemon.clone());
    let mut listener = Listener::bind(&dir)?;
    let mut signals = ShutdownSignals::new()?;
    tracing::info!(pid = std::process::id(), data = %dir.data().display(), "listening");
    report_start(&Ready::Listening);
    let why = loop {
        tokio::select! {
            never = acceptor.accept(&listener) => match never {},
            () = daemon.wait_until_idle() => break "nothing is left to do",
            () = daemon.shutdown.cancelled() => break "it was asked to",
            error = daemon.store_failure() => {
                tracing::error!(%error, "the daemon cannot go on");
                break STORE_FAILED;
            }
            signal = signals.next() => break signal,
            () = listener.lost(&dir) => match listener.bind_again(&dir) {
                Ok(Some(next)) => listener = next,
                Ok(None) => break DIRECTORY_GONE,
                Err(error) => tracing::warn!(%error, "no client can reach the daemon"),
            },
        }
    };
    tracing::info!(why, "the daemon ends");
    // A client that comes now finds no socket, and starts the next daemon.
    listener.close(&dir);
    let report = daemon
        .shut_down(match why {
            DIRECTORY_GONE | STORE_FAILED => ShutdownMode::Unwritable,
            _ => ShutdownMode::Orderly,
        })
        .await;
    tracing::info!("the daemon has ended");
    daemon.publish_shutdown(report).await;
    Ok(())
}
