//! The terminal at which the user decides approval requests.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{QueueSelector, tcflush};
use tokio::task::JoinHandle;

/// The longest line, in bytes.
const LONGEST: usize = 4 << 10;

/// The user's terminal. It is read only while a request is shown, so that other
/// input stays for the next program.
#[derive(Debug)]
pub(super) struct Tty(Arc<File>);

/// Input from the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TerminalInput {
    /// A line.
    Line(String),
    /// The end of input, at the beginning of a line.
    End,
    /// The terminal is gone, or the line is no longer wanted.
    Gone,
}

/// A line that the user is typing. Dropping it stops the read.
#[derive(Debug)]
pub(super) struct PendingLine {
    line: JoinHandle<TerminalInput>,
    _wanted: OwnedFd,
}

impl Tty {
    /// Finds the terminal of this process: the standard input, or the controlling
    /// terminal if that is a pipe. The standard error must be a terminal too.
    pub(super) fn find() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let stdin = std::io::stdin();
        let file = match stdin.is_terminal() {
            true => File::from(stdin.as_fd().try_clone_to_owned().ok()?),
            false => File::open("/dev/tty").ok()?,
        };
        Some(Self(Arc::new(file)))
    }

    /// Drops earlier input, which was meant for something else.
    pub(super) fn forget(&self) {
        tcflush(&*self.0, QueueSelector::IFlush).ok();
    }

    /// Starts to read a line.
    pub(super) fn ask(&self) -> std::io::Result<PendingLine> {
        let (unwanted, wanted) = pipe_with(PipeFlags::CLOEXEC)?;
        let tty = self.0.clone();
        // Other processes share the terminal's blocking mode, so a thread waits.
        let line = tokio::task::spawn_blocking(move || read(&tty, &unwanted));
        Ok(PendingLine { line, _wanted: wanted })
    }
}

impl PendingLine {
    /// Waits for the line. Safe to drop while it waits.
    pub(super) async fn line(&mut self) -> TerminalInput {
        (&mut self.line).await.unwrap_or(TerminalInput::Gone)
    }
}

/// Reads a line, until it is no longer wanted.
fn read(mut tty: &File, unwanted: &OwnedFd) -> TerminalInput {
    loop {
        let mut polled = [PollFd::new(tty, PollFlags::IN), PollFd::new(unwanted, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) if !polled[1].revents().is_empty() => return TerminalInput::Gone,
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return TerminalInput::Gone,
        }
        let mut line = [0; LONGEST];
        return match tty.read(&mut line) {
            Ok(0) => TerminalInput::End,
            Ok(length) => {
                TerminalInput::Line(String::from_utf8_lossy(&line[..length]).trim().to_owned())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => TerminalInput::Gone,
        };
    }
}
