//! The binary under test, called as a script calls it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hashbrown::HashMap;
use offshoot_client::wire::{Code, WireError};
use parking_lot::Mutex;
use rustix::process::Signal;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::shell::processes::{self, MARK};
use crate::shell::trial_dir::TrialDir;
use crate::violation::{Checked, Violation, ensure};

/// The time after which a call counts as hanging. Calls take less than seconds; only a report
/// depends on this limit, and no check.
const PATIENCE: Duration = Duration::from_secs(240);

/// The documented exit codes of every call except an attached spawn.
const DOCUMENTED: [i32; 9] = [0, 1, 2, 3, 4, 5, 6, 124, 125];

/// The binary under test and its working directory.
#[derive(Debug)]
pub struct Binary {
    program: PathBuf,
    data: PathBuf,
    runtime: PathBuf,
    calls: Mutex<HashMap<u32, Instant>>,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct CommandResult {
    /// The command line.
    pub line: String,
    /// When the call began.
    pub began: Instant,
    /// When the call had ended.
    pub ended: Instant,
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// The standard output.
    pub out: Vec<u8>,
    /// The standard error.
    pub err: Vec<u8>,
}

/// The form of an error with `--json`.
#[derive(Debug, Deserialize)]
struct PrintedError {
    error: WireError,
}

impl Binary {
    /// The binary, placed in the directory of a trial.
    pub fn new(program: &Path, folder: &TrialDir) -> Result<Self> {
        let own = folder.settle(program);
        let program = own.with_context(|| format!("{} cannot be used", program.display()))?;
        Ok(Self {
            program: std::fs::canonicalize(program)?,
            data: std::fs::canonicalize(folder.data())?,
            runtime: std::fs::canonicalize(folder.runtime())?,
            calls: Mutex::default(),
        })
    }

    /// The path of the binary.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Calls the binary and waits until it has ended.
    pub fn call<A: AsRef<str>>(&self, args: &[A]) -> Result<CommandResult> {
        let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
        let mut command = Command::new(&self.program);
        command.args(&args).env("OFFSHOOT_DATA", &self.data);
        command.env("XDG_RUNTIME_DIR", &self.runtime).env("NO_COLOR", "1").env_remove(MARK);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let child = command.spawn().context("the binary cannot be started")?;
        let pid = child.id();
        self.calls.lock().insert(pid, began);
        let ended = child.wait_with_output();
        self.calls.lock().remove(&pid);
        let ended = ended.context("the binary cannot be waited for")?;
        Ok(CommandResult {
            line: args.join(" "),
            began,
            ended: Instant::now(),
            code: ended.status.code(),
            out: ended.stdout,
            err: ended.stderr,
        })
    }

    /// Ends calls that hang, so that their callers can report them.
    pub fn end_hanging(&self) {
        let calls = self.calls.lock();
        for (pid, began) in calls.iter() {
            // The process is a child of this one, and is not reaped while it is in the list.
            if began.elapsed() > PATIENCE
                && let Ok(pid) = i32::try_from(*pid)
            {
                processes::signal(pid, Signal::KILL);
            }
        }
    }
}

impl CommandResult {
    /// Whether the call succeeded.
    pub fn is_done(&self) -> bool {
        self.code == Some(0)
    }

    /// The output, decoded as this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Violation> {
        serde_json::from_slice(&self.out).map_err(|error| {
            let detail = format!("{error}: {self}");
            Violation::new("what --json prints is the record", detail)
        })
    }

    /// The error of the call, as one line.
    pub fn brief(&self) -> String {
        let verb = self.line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let told = String::from_utf8_lossy(&self.err);
        let error = told.lines().find(|line| line.contains("error")).unwrap_or_default();
        format!("`offshoot {verb} …`: {error}")
    }

    /// The error code, if the call was refused.
    pub fn fault(&self) -> Option<Code> {
        let told = [&self.err, &self.out];
        let told =
            told.into_iter().find_map(|text| serde_json::from_slice::<PrintedError>(text).ok());
        told.map(|told| told.error.code)
    }

    /// Checks that the call ended in a documented way and without a panic.
    pub fn check(&self, own: Option<i32>) -> Checked {
        let code = self.code.unwrap_or(-1);
        ensure(
            DOCUMENTED.contains(&code) || own == Some(code),
            "every call ends, with a documented exit code",
            || self.to_string(),
        )?;
        for text in [&self.out, &self.err] {
            let text = String::from_utf8_lossy(&text[..text.len().min(1 << 16)]);
            let signs = ["panicked at", "RUST_BACKTRACE", "this is a bug"];
            let panicked = signs.iter().any(|sign| text.contains(sign));
            ensure(!panicked, "nothing panics", || self.to_string())?;
        }
        Ok(())
    }
}

impl std::fmt::Display for CommandResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let took = self.ended.duration_since(self.began).as_millis();
        let code = self.code.map_or("a signal".into(), |code| code.to_string());
        write!(f, "`offshoot {}` ended with {code} after {took} ms", self.line)?;
        for (name, text) in [("out", &self.out), ("err", &self.err)] {
            if !text.is_empty() {
                let shown = String::from_utf8_lossy(&text[..text.len().min(600)]);
                write!(f, "\n    {name}: {}", shown.trim_end().replace('\n', "\n         "))?;
            }
        }
        Ok(())
    }
}
