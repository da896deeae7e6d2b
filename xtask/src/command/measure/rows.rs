//! The figures.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::world::World;

/// One figure and its limit.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) measured: String,
    pub(super) must: &'static str,
    pub(super) holds: bool,
}

/// The function that takes a figure.
type MeasureFigure = fn(&World) -> Result<Row>;

/// Every figure.
pub(super) const ALL: &[MeasureFigure] = &[size, cold, rate, idle, flood_kept, flood_read, crowd];

/// The number of repetitions of a varying measurement. The median is the result.
const TIMES: usize = 5;

/// The bytes of a flood.
const FLOOD: u64 = 300_000_000;

fn size(world: &World) -> Result<Row> {
    let bytes = std::fs::metadata(&world.program)?.len();
    Ok(Row {
        what: "size of the program",
        measured: megabytes(bytes),
        must: "≤ 40 MB",
        holds: bytes <= 40_000_000,
    })
}

fn cold(world: &World) -> Result<Row> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        world.offshoot(&["daemon", "stop"])?;
        let data = world.folder().join("data");
        if data.exists() {
            std::fs::remove_dir_all(data)?;
        }
        times.push(world.offshoot(&["spawn", "--detach", "--", "true"])?.1);
    }
    let median = median(times);
    Ok(Row {
        what: "the first command, with no daemon and no data folder",
        measured: format!("{} ms", median.as_millis()),
        must: "≤ 150 ms",
        holds: median <= Duration::from_millis(150),
    })
}

fn rate(world: &World) -> Result<Row> {
    const SPAWNS: u32 = 500;
    world.offshoot(&["tasks", "ls"])?;
    let took = world.shell(&format!(
        "i=0; while [ $i -lt {SPAWNS} ]; do \"$OFFSHOOT\" spawn --detach -- true >/dev/null || exit 1; \
         i=$((i+1)); done"
    ))?;
    let rate = f64::from(SPAWNS) / took.as_secs_f64();
    Ok(Row {
        what: "`spawn --detach` from one shell loop",
        measured: format!("{rate:.0} a second"),
        must: "≥ 150 a second",
        holds: rate >= 150.0,
    })
}

fn idle(world: &World) -> Result<Row> {
    world.offshoot(&["tasks", "ls"])?;
    let bytes = world.memory("VmRSS")?;
    Ok(Row {
        what: "memory of an idle daemon",
        measured: megabytes(bytes),
        must: "≤ 20 MB",
        holds: bytes <= 20_000_000,
    })
}

/// The time of the flood into a file.
fn flood_to_file(world: &World) -> Result<Duration> {
    world.shell(&format!("head -c {FLOOD} /dev/zero > flood; rm flood"))
}

fn flood(world: &World, what: &'static str, script: &str) -> Result<Row> {
    let (mut files, mut times) = (Vec::new(), Vec::new());
    world.offshoot(&["tasks", "ls"])?;
    for _ in 0..TIMES {
        files.push(flood_to_file(world)?);
        times.push(world.shell(&script.replace("FLOOD", &FLOOD.to_string()))?);
    }
    let ratio = median(files).as_secs_f64() / median(times).as_secs_f64();
    let bytes = world.memory("VmHWM")?;
    Ok(Row {
        what,
        measured: format!(
            "{:.0} % of the throughput, daemon at most {}",
            ratio * 100.0,
            megabytes(bytes)
        ),
        must: "≥ 50 %, ≤ 64 MB",
        holds: ratio >= 0.5 && bytes <= 64_000_000,
    })
}

fn flood_kept(world: &World) -> Result<Row> {
    flood(
        world,
        "300 MB of output from one command, against the same into a file",
        "\"$OFFSHOOT\" spawn --detach --name flood -- head -c FLOOD /dev/zero >/dev/null && \
         \"$OFFSHOOT\" tasks wait flood >/dev/null",
    )
}

fn flood_read(world: &World) -> Result<Row> {
    let row = flood(
        world,
        "the same, read along by an attached `spawn` that misses nothing",
        "\"$OFFSHOOT\" spawn -- head -c FLOOD /dev/zero > flood; rm flood",
    )?;
    // The only promise is that the daemon stays small.
    Ok(Row { must: "≤ 64 MB", holds: world.memory("VmHWM")? <= 64_000_000, ..row })
}

fn crowd(world: &World) -> Result<Row> {
    const MANY: usize = 1_000;
    world.offshoot(&["tasks", "ls"])?;
    let took = world.shell(&format!(
        "i=0; while [ $i -lt {MANY} ]; do \"$OFFSHOOT\" spawn --detach -- sleep 600 >/dev/null || exit 1; \
         i=$((i+1)); done"
    ))?;
    let running = world.json(&["daemon", "status"])?["running"].as_u64();
    ensure!(running == Some(MANY as u64), "{running:?} of {MANY} run");
    let bytes = world.memory("VmRSS")?;
    let stopping = world.offshoot(&["sessions", "cancel"])?.1;
    let ended = world.shell("\"$OFFSHOOT\" --json tasks ls | grep -q '\"tasks\":\\[\\]'");
    let waited = match ended {
        Ok(_) => Duration::ZERO,
        Err(_) => world.shell(
            "\"$OFFSHOOT\" tasks wait $(\"$OFFSHOOT\" --json tasks ls --limit 1000 | \
             grep -o '\"handle\":\"[^\"]*\"' | cut -d'\"' -f4) >/dev/null; [ $? -eq 3 ]",
        )?,
    };
    let status = world.json(&["daemon", "status"])?;
    let left = ["running", "waiting", "queued"].iter().filter_map(|state| status[state].as_u64());
    let left: u64 = left.sum();
    Ok(Row {
        what: "1,000 `sleep` at once: spawn, run, cancel",
        measured: format!(
            "spawned in {:.1} s, {} of daemon, all gone {:.1} s after the cancel, {left} left",
            took.as_secs_f64(),
            megabytes(bytes),
            (stopping + waited).as_secs_f64()
        ),
        must: "without trouble",
        holds: left == 0,
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
