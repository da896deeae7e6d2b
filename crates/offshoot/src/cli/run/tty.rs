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
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// The end of input, at the beginning of a line.
    End,
    /// Nobody sits there any more, or nobody waits for it.
    Gone,
}

/// A line that is waited for. Whoever drops this reads nothing more.
#[derive(Debug)]
pub(super) struct Typing {
    line: JoinHandle<Typed>,
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
    pub(super) fn ask(&self) -> std::io::Result<Typing> {
        let (unwanted, wanted) = pipe_with(PipeFlags::CLOEXEC)?;
        let tty = self.0.clone();
        // A terminal shares whether it blocks with others, so a thread waits.
        let line = tokio::task::spawn_blocking(move || read(&tty, &unwanted));
        Ok(Typing { line, _wanted: wanted })
    }
}

impl Typing {
    /// The line. It is safe to drop while it waits.
    pub(super) async fn line(&mut self) -> Typed {
        (&mut self.line).await.unwrap_or(Typed::Gone)
    }
}

/// Reads a line, unless it is wanted no more before.
fn read(mut tty: &File, unwanted: &OwnedFd) -> Typed {
    loop {
        let mut polled = [PollFd::new(tty, PollFlags::IN), PollFd::new(unwanted, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) if !polled[1].revents().is_empty() => return Typed::Gone,
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return Typed::Gone,
        }
        let mut line = [0; LONGEST];
        return match tty.read(&mut line) {
            Ok(0) => Typed::End,
            Ok(length) => Typed::Line(String::from_utf8_lossy(&line[..length]).trim().to_owned()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => Typed::Gone,
        };
    }
}
