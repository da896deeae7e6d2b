//! The status of the daemon, and its end.

use offshoot_client::wire::{LogFile, Reply, Status, WIRE};
use offshoot_core::Phase;

use super::{Answer, ReplySink};
use crate::host::Daemon;

/// The number of log lines that are shown.
const LINES: usize = 8;

/// Shows the status of the daemon.
pub(super) async fn status(daemon: &Daemon) -> Answer {
    let runtime = daemon.runtime()?;
    let counts = runtime.counts().await?;
    Ok(Reply::Status(Box::new(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wire: WIRE,
        pid: std::process::id(),
        started_at: daemon.started.to_string(),
        data: daemon.dir.data().to_string_lossy().into_owned(),
        socket: daemon
            .dir
            .socket()
            .map_or_else(|error| error.to_string(), |socket| socket.to_string_lossy().into_owned()),
        memory_bytes: memory(),
        running: counts.of(Phase::Running),
        waiting: counts.of(Phase::Waiting),
        queued: counts.of(Phase::Queued),
        finished: counts.ended(),
        slots: daemon.limits.slots,
        recovered: runtime.has_recovered(),
        cgroups: Some(match daemon.commands.cgroups() {
            Ok(directory) => format!("each command has one, in {}", directory.display()),
            Err(lack) => format!("{lack}; commands are known by their marks alone"),
        }),
        idle_seconds: daemon.connections.idle_limit().as_secs(),
        log: LogFile {
            path: daemon.log.path().to_string_lossy().into_owned(),
            bytes: daemon.log.bytes(),
            last: daemon.log.last(LINES),
        },
    })))
}

/// The memory of this process, where the platform tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Ends the daemon, and replies with the report of its shutdown.
pub(super) async fn quit(daemon: &Daemon, replies: &mut impl ReplySink) -> Answer {
    let mut stopped = daemon.subscribe_to_shutdown();
    daemon.shutdown.cancel();
    let report = stopped.wait_for(Option::is_some).await.ok().and_then(|report| report.clone());
    replies.reply(&Reply::Shutdown(report.unwrap_or_default())).await?;
    // The process stays until every subscriber has gone.
    drop(stopped);
    Ok(Reply::Done)
}
