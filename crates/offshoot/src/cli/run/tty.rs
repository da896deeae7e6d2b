//! The terminal at which a person is asked in place.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{QueueSelector, tcflush};
use tokio::task::JoinHandle;

/// How much of a line is read.
const LONGEST: usize = 4 << 10;

/// A terminal that somebody sits at. It is read only while they are asked, so
/// that what is typed at other times is left to whoever comes after.
#[derive(Debug)]
pub(super) struct Tty(Arc<File>);

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TerminalInput {
    /// A line.
    Line(String),
    /// The end of input, at the beginning of a line.
    End,
    /// Nobody sits there any more, or nobody waits for it.
    Gone,
}

/// A line that is waited for. Whoever drops this reads nothing more.
#[derive(Debug)]
pub(super) struct PendingLine {
    line: JoinHandle<TerminalInput>,
    _wanted: OwnedFd,
}

impl Tty {
    /// The terminal of this process, if it has one: our standard input, or the
    /// one behind it if that is a pipe, and what is shown is seen there.
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

    /// Drops what was typed so far: it was meant for something else.
    pub(super) fn forget(&self) {
        tcflush(&*self.0, QueueSelector::IFlush).ok();
    }

    /// Waits for a line.
    pub(super) fn ask(&self) -> std::io::Result<PendingLine> {
        let (unwanted, wanted) = pipe_with(PipeFlags::CLOEXEC)?;
        let tty = self.0.clone();
        // A terminal shares whether it blocks with others, so a thread waits.
        let line = tokio::task::spawn_blocking(move || read(&tty, &unwanted));
        Ok(PendingLine { line, _wanted: wanted })
    }
}

impl PendingLine {
    /// The line. It is safe to drop while it waits.
    pub(super) async fn line(&mut self) -> TerminalInput {
        (&mut self.line).await.unwrap_or(TerminalInput::Gone)
    }
}

/// Reads a line, unless it is wanted no more before.
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
