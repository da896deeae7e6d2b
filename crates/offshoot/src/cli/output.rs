//! The standard output and error of this program, as the target of a command's
//! output: unchanged, made safe for a terminal, or as JSON lines.
//!
//! A separate thread writes, so a slow reader delays the output but not Ctrl-C.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use super::error::CliError;
use super::lines::Lines;
use super::show::text::SafeText;

/// The standard output or error of this program.
#[derive(Debug)]
pub(crate) struct OutputStream {
    file: Arc<File>,
}

/// How output is transformed.
#[derive(Debug)]
pub(crate) enum OutputFilter {
    /// Unchanged.
    Exact,
    /// Without control sequences.
    SafeText(SafeText),
    /// As JSON lines.
    Json(Lines),
}

impl OutputFilter {
    /// Converts bytes for the output.
    pub(crate) fn pass(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Exact => bytes,
            Self::SafeText(safe) => safe.piece(&bytes).into_bytes(),
            Self::Json(lines) => lines.piece(&bytes).into_bytes(),
        }
    }

    /// Returns the rest at the end of the input.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        match self {
            Self::Exact => Vec::new(),
            Self::SafeText(safe) => safe.rest().into_bytes(),
            Self::Json(lines) => lines.rest().into_bytes(),
        }
    }
}

impl OutputStream {
    /// The standard output.
    pub(crate) fn stdout() -> Result<Self, CliError> {
        Self::of(&std::io::stdout())
    }

    /// The standard error.
    pub(crate) fn stderr() -> Result<Self, CliError> {
        Self::of(&std::io::stderr())
    }

    fn of<S: AsFd>(stream: &S) -> Result<Self, CliError> {
        let own = stream.as_fd().try_clone_to_owned().map_err(CliError::output)?;
        Ok(Self { file: Arc::new(own.into()) })
    }

    /// Writes all of it.
    pub(crate) async fn write(&self, bytes: Vec<u8>) -> Result<(), CliError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || write_all(&file, &bytes)).await;
        written.map_err(|error| CliError::other(&error))?.map_err(CliError::output)
    }
}

/// Writes all bytes, also to a non-blocking stream.
fn write_all(mut file: &File, mut bytes: &[u8]) -> std::io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(&file, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
