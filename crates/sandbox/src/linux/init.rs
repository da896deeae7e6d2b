//! Process 1 of a namespace of processes.
//!
//! It has the namespace exist, mounts its `/proc`, and reaps the processes that
//! lost their parent. It ends, and all others with it, when the leader dies. When
//! the program has ended by itself and processes are left, it stays until they
//! have ended: the daemon asks them to end, and kills them if they do not.

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

/// The first argument by which a program knows that it is process 1.
pub(crate) const INIT: &str = "__offshoot-init";

/// What both sides write for: go on.
const GO_ON: u8 = b'+';

/// Process 1, as the leader that has started it sees it.
#[derive(Debug)]
pub(crate) struct Init(Child);

impl Init {
    /// Starts it. It is this very program.
    pub(super) fn start() -> Result<Self, ConfineError> {
        // Out of the leader's group, and without the task's mark: it is none of
        // the program's processes.
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
                // What could not be read is not known.
                let _ = out.read_to_string(&mut text);
                Err(failed("process 1", io::Error::other(text)))
            }
            Some(Err(error)) => Err(failed("process 1", error)),
            None => Err(failed("process 1", io::Error::other("it has no output"))),
        }
    }

    /// Tells it that the program has ended. Returns once it has ended as well or,
    /// if other processes are left, will end after them.
    pub(crate) fn finish(mut self) {
        let (Some(mut input), Some(mut output)) = (self.0.stdin.take(), self.0.stdout.take())
        else {
            return;
        };
        // If it has died, so has everything in its namespace.
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

/// Takes off the limit by which the processes of a task are known.
fn unmark() -> io::Result<()> {
    let maximum = getrlimit(Resource::Rttime).maximum;
    Ok(setrlimit(Resource::Rttime, Rlimit { current: maximum, maximum })?)
}

/// Reaps until the leader dies or nothing is left of an ended program.
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
        // After the leader was heard: what the program left is here by then.
        let left = reap_all();
        if told {
            ended = true;
            // An end without a word is the leader's death.
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

/// Reaps all that have ended; whether others are left.
fn reap_all() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
