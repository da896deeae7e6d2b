//! Process 1 of a namespace of processes.
//!
//! It keeps the namespace alive, mounts its `/proc`, and reaps orphaned processes. When the
//! leader dies, it ends, and all others with it. When the program has ended by itself and
//! processes are left, it stays until they have ended: the daemon asks them to end, and
//! kills them if they do not.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::{Resource, Rlimit, WaitOptions, getrlimit, setrlimit, wait};

use super::namespaces::failed;
use super::{ConfineError, files, rights};

/// The first argument of process 1.
pub(crate) const INIT: &str = "__offshoot-init";

/// The message with which each side lets the other continue.
const GO_ON: u8 = b'+';

/// The leader's handle of process 1.
#[derive(Debug)]
pub(crate) struct Init(Child);

impl Init {
    /// Starts process 1, which is the same executable.
    pub(super) fn start() -> Result<Self, ConfineError> {
        // It has its own group and no mark of the task, because it is no process of the
        // program.
        let mut command = Command::new("/proc/self/exe");
        command.arg(INIT).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| failed("process 1", error))?;
        let mut told = [0];
        let out = child.stdout.as_mut().map(|out| out.read_exact(&mut told).map(|()| out));
        match out {
            Some(Ok(_)) if told == [GO_ON] => Ok(Self(child)),
            Some(Ok(out)) => {
                let mut text = String::new();
                // An unreadable message has no information.
                let _ = out.read_to_string(&mut text);
                Err(failed("process 1", io::Error::other(text)))
            }
            Some(Err(error)) => Err(failed("process 1", error)),
            None => Err(failed("process 1", io::Error::other("it has no output"))),
        }
    }

    /// Tells process 1 that the program has ended.
    ///
    /// Returns once process 1 has ended or, if other processes are left, will end after them.
    pub(crate) fn finish(mut self) {
        let (Some(mut input), Some(mut output)) = (self.0.stdin.take(), self.0.stdout.take())
        else {
            return;
        };
        // If it has died, so have all processes of its namespace.
        let told = input.write_all(&[GO_ON]).is_ok();
        if !told || !matches!(output.read(&mut [0]), Ok(1)) {
            let _ = self.0.wait();
        }
    }
}

/// Does the work of process 1 and ends.
pub(crate) fn run() -> ! {
    let code = match serve() {
        Ok(()) => 0,
        Err(error) => {
            // The leader sees it end in any case.
            let _ = io::stdout().write_all(format!("-{error}").as_bytes());
            1
        }
    };
    std::process::exit(code)
}

fn serve() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    mount("proc", "/proc", "proc", flags, None)
        .map_err(|error| io::Error::other(format!("/proc: {error}")))?;
    unmark()?;
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    children.thread_block()?;
    let signals = SignalFd::with_flags(&children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    rights::give_up_all()?;
    files::give_nothing().map_err(io::Error::other)?;
    io::stdout().write_all(&[GO_ON])?;
    io::stdout().flush()?;
    reap(&signals)
}

/// Removes the limit that marks the processes of a task.
fn unmark() -> io::Result<()> {
    let maximum = getrlimit(Resource::Rttime).maximum;
    Ok(setrlimit(Resource::Rttime, Rlimit { current: maximum, maximum })?)
}

/// Reaps until the leader dies, or the program has ended and no process of it is left.
fn reap(signals: &SignalFd) -> io::Result<()> {
    let mut ended = false;
    loop {
        let leader = rustix::stdio::stdin();
        let mut watched =
            [PollFd::new(signals, PollFlags::IN), PollFd::from_borrowed_fd(leader, PollFlags::IN)];
        let watched = if ended { &mut watched[..1] } else { &mut watched[..] };
        match poll(watched, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let told = watched.get(1).is_some_and(|leader| !leader.revents().is_empty());
        while signals.read_signal()?.is_some() {}
        // After the leader's message all leftovers of the program are children of this process.
        let left = reap_all();
        if told {
            ended = true;
            // An end without a message is the leader's death.
            if rustix::io::read(leader, &mut [0])? == 0 {
                return Ok(());
            }
            if left {
                rustix::process::set_parent_process_death_signal(None)?;
                io::stdout().write_all(&[GO_ON])?;
                io::stdout().flush()?;
            }
        }
        if ended && !left {
            return Ok(());
        }
    }
}

/// Reaps all ended processes. Returns whether others are left.
fn reap_all() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
