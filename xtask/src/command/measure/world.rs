//! The data directory of a figure, and the program that works on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A data directory of its own. Its daemon ends with it.
pub(super) struct World {
    pub(super) program: PathBuf,
    folder: PathBuf,
}

impl World {
    pub(super) fn new(program: &Path) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("offshoot-measure-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self { program: program.to_owned(), folder })
    }

    /// The measured directory.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A call of the program on the data directory.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("OFFSHOOT_DATA", self.folder.join("data")).env("OFFSHOOT", &self.program);
        command.env_remove("OFFSHOOT_TASK").current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    /// Runs the program. Returns its output and the elapsed time.
    pub(super) fn offshoot(&self, args: &[&str]) -> Result<(String, Duration)> {
        timed(self.command(&self.program).args(args))
    }

    /// The JSON answer of the program.
    pub(super) fn json(&self, args: &[&str]) -> Result<Value> {
        let (said, _) = self.offshoot(&[&["--json"], args].concat())?;
        serde_json::from_str(&said).with_context(|| format!("{args:?} said {said:?}"))
    }

    /// Runs a shell script that finds the program as `$OFFSHOOT`. Returns the elapsed time.
    pub(super) fn shell(&self, script: &str) -> Result<Duration> {
        timed(self.command("sh").args(["-c", script])).map(|(_, took)| took)
    }

    /// A figure in bytes that the system reports about the daemon.
    pub(super) fn memory(&self, name: &str) -> Result<u64> {
        let pid = self.json(&["daemon", "status"])?["pid"].as_u64().context("no daemon runs")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes =
            line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
        Ok(kilobytes.with_context(|| format!("no {name}"))?.parse::<u64>()? * 1024)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.offshoot(&["daemon", "stop"]).ok();
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

fn timed(command: &mut Command) -> Result<(String, Duration)> {
    let began = Instant::now();
    let output = command.stderr(Stdio::inherit()).output()?;
    let took = began.elapsed();
    ensure!(output.status.success(), "{command:?} failed ({})", output.status);
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), took))
}

/// The machine of the figures.
pub(super) fn processor() -> Result<String> {
    let told = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = told.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.unwrap_or_default().trim_start_matches(['\t', ' ', ':']).to_owned();
    let threads = std::thread::available_parallelism()?;
    Ok(format!("{model}, {threads} threads"))
}

/// The kernel.
pub(super) fn kernel() -> Result<String> {
    let told = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!("Linux {}", told.trim()))
}
