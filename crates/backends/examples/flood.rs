//! Measures how fast a command's output reaches its log, compared with a file, and the
//! memory in use.
//!
//! `cargo run --release -p offshoot-backends --example flood [script…]`

use std::error::Error;
use std::process::Stdio;
use std::time::{Duration, Instant};

use offshoot_backends::{Attach, Command, Commands, Report, Surroundings};
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;

/// The number of measurements, of which the best is used.
const ROUNDS: u32 = 5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let usual = ["head -c 300000000 /dev/zero", "yes | head -c 300000000"];
    let scripts = if given.is_empty() { usual.map(str::to_owned).to_vec() } else { given };
    let folder = tempfile::tempdir()?;
    let commands = Commands::at(folder.path())?;
    let builder = Runtime::builder(Sqlite::at(folder.path()));
    let runtime = builder.backend(Commands::KIND, commands.backend()).open().await?;
    let session = runtime.session("flood").await?;
    for script in scripts {
        let (mut into_file, mut into_log) = (Duration::MAX, Duration::MAX);
        let (mut bytes, before) = (0, cpu());
        for _ in 0..ROUNDS {
            let file = std::fs::File::create(folder.path().join("file"))?;
            let begun = Instant::now();
            let mut child = std::process::Command::new("sh");
            child.args(["-c", &script]).stdin(Stdio::null()).stdout(file).status()?;
            into_file = into_file.min(begun.elapsed());

            let begun = Instant::now();
            let command = Command::new("sh", folder.path())?.args(["-c", &script])?;
            let request = commands.request(command, Some(Surroundings::own()), Attach::No)?;
            let ended = session.spawn(request).await?.wait().await?;
            into_log = into_log.min(begun.elapsed());
            bytes = ended.decode::<Report>()?.output.bytes;
        }
        let rate = |took: Duration| bytes as f64 / took.as_secs_f64() / 1e6;
        let spent = (cpu() - before) / f64::from(ROUNDS);
        println!(
            "{script}: {bytes} bytes; into a file {:.0} MB/s, into the log {:.0} MB/s ({:.0} %), \
             {spent:.2} s of processor time here; peak memory {}",
            rate(into_file),
            rate(into_log),
            100.0 * into_file.as_secs_f64() / into_log.as_secs_f64(),
            peak(),
        );
    }
    Ok(())
}

/// Returns the peak memory of this process.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap_or("unknown").trim().to_owned()
}

/// Returns the processor time of this process, without its children.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}
