//! A temporary data directory, and the program that uses it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use offshoot::Sqlite;
use offshoot::core::{Retention, Stamp};
use offshoot::store::OpenStore;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary data directory. Its daemon ends with it.
pub(crate) struct World {
    pub(crate) folder: TempDir,
}

/// The output of the program and its exit code.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: i32,
}

impl World {
    pub(crate) fn new() -> Self {
        // Short, since the path of a socket must be.
        let folder = tempfile::Builder::new().prefix("os").tempdir_in("/tmp").unwrap();
        std::fs::create_dir(folder.path().join("run")).unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        // A project ends below a directory that all users share.
        let shared = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        std::fs::set_permissions(folder.path(), shared).unwrap();
        Self { folder }
    }

    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    /// The program with these arguments, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.other(env!("CARGO_BIN_EXE_offshoot"));
        command.args(args);
        command
    }

    /// Another program, whose environment has this data directory.
    pub(crate) fn other(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let told = name.to_str().is_some_and(|name| {
                name.starts_with("OFFSHOOT")
                    || name.ends_with("_API_KEY")
                    || name.ends_with("_BASE_URL")
                    || name == "OLLAMA_HOST"
            });
            if told {
                command.env_remove(name);
            }
        }
        command.env("OFFSHOOT_DATA", self.data());
        command.env("XDG_RUNTIME_DIR", self.folder.path().join("run"));
        command.env("HOME", self.folder.path().join("home"));
        // No profiles and trusted directories of the real user.
        command.env("XDG_CONFIG_HOME", self.folder.path().join("config"));
        command.env("XDG_STATE_HOME", self.folder.path().join("state"));
        command.env_remove("NO_COLOR");
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// The same, with the default action of hang-up. The test process may ignore it,
    /// and its children would inherit that.
    pub(crate) fn hearing(&self, args: &[&str]) -> Command {
        let mut command = self.other("env");
        command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_offshoot")]).args(args);
        command
    }

    /// Runs a command.
    pub(crate) fn run(&self, args: &[&str]) -> ProgramOutput {
        ProgramOutput::of(self.command(args).output().unwrap())
    }

    /// Returns the output of a shell line, in which the program uses this data directory.
    pub(crate) fn shell(&self, line: &str) -> ProgramOutput {
        ProgramOutput::of(self.other("bash").args(["-c", line]).output().unwrap())
    }

    /// The output of a command that must succeed.
    pub(crate) fn done(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out
    }

    /// The JSON output of a command.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = std::iter::once("--json").chain(args.iter().copied()).collect();
        let said = self.run(&args);
        serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
    }

    /// Spawns a shell script with this name.
    pub(crate) fn detach(&self, name: &str, script: &str) {
        let said = self.done(&["spawn", "--detach", "--name", name, "--", "sh", "-c", script]);
        assert_eq!(said, format!("{name}\n"));
    }

    /// Waits until a task has written this line.
    pub(crate) fn until_line(&self, task: &str, line: &str) {
        let mut tail = Started::new(self.command(&["tasks", "tail", "-f", task]));
        tail.until_line(line);
    }

    /// The process of the daemon.
    pub(crate) fn daemon(&self) -> u32 {
        let pid = &self.json(&["daemon", "status"])["pid"];
        u32::try_from(pid.as_u64().unwrap()).unwrap()
    }

    /// Kills the daemon, as a power cut would.
    pub(crate) fn kill_daemon(&self) {
        let daemon = self.daemon();
        let process = held(daemon);
        send(daemon, Signal::KILL);
        gone(process);
    }

    /// Ends the daemon, and applies another retention to its store.
    pub(crate) fn expire(&self, now: Stamp, change: impl FnOnce(&mut Retention)) {
        self.done(&["daemon", "stop"]);
        let mut retention = Retention::default();
        change(&mut retention);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Sqlite::at(self.data()).open_store().await.unwrap();
            store.set_retention(retention);
            while store.expire(now, 1_000).await.unwrap() > 0 {}
            store.close(Duration::MAX).await.unwrap();
        });
    }
}

/// Holds a process, so that its number is not reused.
#[cfg(target_os = "linux")]
fn held(process: u32) -> std::os::fd::OwnedFd {
    use rustix::process::{PidfdFlags, pidfd_open};
    let process = Pid::from_raw(process.cast_signed()).unwrap();
    pidfd_open(process, PidfdFlags::empty()).unwrap()
}

/// Returns once the process is gone.
#[cfg(target_os = "linux")]
fn gone(process: std::os::fd::OwnedFd) {
    use rustix::event::{PollFd, PollFlags, poll};
    while poll(&mut [PollFd::new(&process, PollFlags::IN)], None).is_err() {}
}

#[cfg(not(target_os = "linux"))]
fn held(process: u32) -> Pid {
    Pid::from_raw(process.cast_signed()).unwrap()
}

#[cfg(not(target_os = "linux"))]
fn gone(process: Pid) {
    while rustix::process::test_kill_process(process).is_ok() {
        std::thread::yield_now();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let stopped = self.command(&["daemon", "stop"]).output();
        if !std::thread::panicking() {
            let said = ProgramOutput::of(stopped.unwrap());
            assert_eq!(said.code, 0, "{said:?}");
        }
    }
}

impl ProgramOutput {
    pub(crate) fn of(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let status = output.status;
        let code = status.code().unwrap_or_else(|| -status.signal().unwrap_or_default());
        Self { out: text(output.stdout), err: text(output.stderr), code }
    }
}

/// The program while it runs.
pub(crate) struct Started {
    pub(crate) child: Child,
    out: BufReader<ChildStdout>,
}

impl Started {
    pub(crate) fn new(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// Reads up to this line.
    pub(crate) fn until_line(&mut self, line: &str) {
        let mut read = String::new();
        loop {
            read.clear();
            let length = self.out.read_line(&mut read).unwrap();
            assert!(length > 0, "the output ended before {line:?}");
            if read.trim_end() == line {
                return;
            }
        }
    }

    /// Reads up to a line of the standard error that has this in it.
    pub(crate) fn until_remark(&mut self, part: &str) {
        let err = self.child.stderr.as_mut().unwrap();
        let mut seen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&seen).contains(part) {
            let read = err.read(&mut byte).unwrap();
            assert!(read > 0, "no {part:?} in {:?}", String::from_utf8_lossy(&seen));
            seen.push(byte[0]);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// Waits for the end. Returns the rest of the output and the exit code.
    pub(crate) fn finish(mut self) -> ProgramOutput {
        let mut err = self.child.stderr.take().unwrap();
        // Both at once, so that neither fills up while the other is read.
        let err = std::thread::spawn(move || {
            let mut read = Vec::new();
            err.read_to_end(&mut read).unwrap();
            read
        });
        let mut stdout = Vec::new();
        self.out.read_to_end(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        ProgramOutput::of(Output { status, stdout, stderr: err.join().unwrap() })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // One that follows would start the next daemon when this one is stopped.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn send(process: u32, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    kill_process(process, signal).unwrap();
}

/// Writes an executable script.
pub(crate) fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
