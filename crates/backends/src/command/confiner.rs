//! The start of a confined command.
//!
//! The started process is the helper, which becomes the program. So errors of executing
//! the program are detected before the start.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use offshoot_sandbox::{Helper, Support};
use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;

use super::line::Command;
use super::report::StartError;
use super::start::StartFailure;
use super::surroundings::Surroundings;

/// The way to start confined commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Confiner {
    pub(crate) helper: Option<Helper>,
    /// Variables that no confined command gets from its surroundings.
    pub(crate) secrets: Arc<[OsString]>,
}

impl Confiner {
    /// The helper, if the system can confine.
    pub(crate) fn helper(&self) -> Result<&Helper, StartFailure> {
        if let Support::No(lack) = offshoot_sandbox::probe() {
            return Err(not_confined(&lack.to_string()));
        }
        self.helper
            .as_ref()
            .ok_or_else(|| not_confined("this program was not told how to; that is a defect"))
    }

    /// Returns the surroundings of a command, without the variables that it must not get.
    pub(crate) fn cleared(&self, command: &Command, around: Surroundings) -> Surroundings {
        match command.confinement() {
            Some(_) => around.without_secrets(self.secrets.iter()),
            None => around,
        }
    }
}

fn not_confined(why: &str) -> StartFailure {
    let message = format!("it was not started, as it cannot be confined: {why}");
    StartFailure::new(StartError::NotConfined, message)
}

/// The failure of a command whose helper was not started.
pub(crate) fn helper_refused(
    command: &Command,
    program: &Path,
    error: &std::io::Error,
) -> StartFailure {
    match Errno::from_io_error(error) {
        Some(Errno::TOOBIG | Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
            super::start::refusal(command, program, error)
        }
        _ => not_confined("what would confine it could not be started").because(error),
    }
}

/// Returns the error that the system would give for a program, as far as it is known.
pub(crate) fn check_program(program: &Path, folder: &Path) -> Result<(), Errno> {
    rustix::fs::access(program, Access::EXEC_OK)?;
    // Nonblocking, because a pipe may be in its place.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut head = Vec::new();
    let read = rustix::fs::open(program, flags, Mode::empty())
        .map_err(std::io::Error::from)
        .and_then(|file| std::fs::File::from(file).take(256).read_to_end(&mut head));
    if read.is_err() || head.starts_with(b"\x7fELF") {
        return Ok(());
    }
    let Some(line) = head.strip_prefix(b"#!") else {
        return if knows_other_formats() { Ok(()) } else { Err(Errno::NOEXEC) };
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let interpreter = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    if interpreter.is_empty() {
        return Err(Errno::NOEXEC);
    }
    rustix::fs::access(folder.join(OsStr::from_bytes(interpreter)), Access::EXEC_OK)
}

/// Whether this system has other program formats registered.
fn knows_other_formats() -> bool {
    let Ok(formats) = std::fs::read_dir("/proc/sys/fs/binfmt_misc") else { return false };
    formats
        .flatten()
        .any(|format| format.file_name() != "register" && format.file_name() != "status")
}
