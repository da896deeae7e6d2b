//! How the daemon is.

use offshoot_client::wire::{LogFile, Reply, Status, WIRE};
use offshoot_core::Phase;

use super::Answer;
use crate::house::House;

/// How many lines of the log are shown.
const LINES: usize = 8;

/// How the daemon is.
pub(super) async fn status(house: &House) -> Answer {
    let runtime = house.runtime()?;
    let counts = runtime.counts().await?;
    Ok(Reply::Status(Box::new(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wire: WIRE,
        pid: std::process::id(),
        started_at: house.started.to_string(),
        data: house.place.data().to_string_lossy().into_owned(),
        socket: house
            .place
            .socket()
            .map_or_else(|error| error.to_string(), |socket| socket.to_string_lossy().into_owned()),
        memory_bytes: memory(),
        running: counts.of(Phase::Running),
        waiting: counts.of(Phase::Waiting),
        queued: counts.of(Phase::Queued),
        finished: counts.ended(),
        slots: house.slots,
        recovered: runtime.has_recovered(),
        cgroups: Some(match house.commands.cgroups() {
            Ok(directory) => format!("each command has one, in {}", directory.display()),
            Err(lack) => format!("{lack}; commands are known by their marks alone"),
        }),
        idle_seconds: house.idle.patience().as_secs(),
        log: LogFile {
            path: house.log.path().to_string_lossy().into_owned(),
            bytes: house.log.bytes(),
            last: house.log.last(LINES),
        },
    })))
}

/// How much memory this process has, where the platform tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
