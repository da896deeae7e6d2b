//! An outlet: one of our own streams, to which a command's output goes as it is,
//! made safe, or as JSON.
//!
//! It is written by a thread of its own, so that a reader who takes his time
//! holds up the output, and not Ctrl-C.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use super::lines::Lines;
use super::show::text::Safe;
use super::trouble::Trouble;

/// One of our own streams.
#[derive(Debug)]
pub(crate) struct Outlet {
    file: Arc<File>,
}

/// How bytes go out.
#[derive(Debug)]
pub(crate) enum Passing {
    /// As they are.
    Exact,
    /// So that no terminal obeys them.
    Safe(Safe),
    /// As JSON lines.
    Json(Lines),
}

impl Passing {
    /// What goes out for these bytes.
    pub(crate) fn pass(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Exact => bytes,
            Self::Safe(safe) => safe.piece(&bytes).into_bytes(),
            Self::Json(lines) => lines.piece(&bytes).into_bytes(),
        }
    }

    /// What is left when nothing more comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        match self {
            Self::Exact => Vec::new(),
            Self::Safe(safe) => safe.rest().into_bytes(),
            Self::Json(lines) => lines.rest().into_bytes(),
        }
    }
}

impl Outlet {
    /// The standard output.
    pub(crate) fn stdout() -> Result<Self, Trouble> {
        Self::of(&std::io::stdout())
    }

    /// The standard error.
    pub(crate) fn stderr() -> Result<Self, Trouble> {
        Self::of(&std::io::stderr())
    }

    fn of<S: AsFd>(stream: &S) -> Result<Self, Trouble> {
        let own = stream.as_fd().try_clone_to_owned().map_err(Trouble::output)?;
        Ok(Self { file: Arc::new(own.into()) })
    }

    /// Writes all of it.
    pub(crate) async fn write(&self, bytes: Vec<u8>) -> Result<(), Trouble> {
        if bytes.is_empty() {
            return Ok(());
        }
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || write_all(&file, &bytes)).await;
        written.map_err(|error| Trouble::other(&error))?.map_err(Trouble::output)
    }
}

/// Writes all of it, also where somebody made the stream one that never blocks.
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
