//! The leader: it represents a program outside its namespace of processes.
//!
//! It passes on the signals that it gets, and ends as the program has ended. Its number is the
//! one that is known outside, and its resource usage includes that of the program.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::DumpableBehavior;

use super::init::Init;
use super::rights;

/// The variable with the signals that were blocked before, for the child.
pub(crate) const HELD_BACK: &str = "offshoot-held-back";

/// Starts the process that becomes the program, and ends as it does.
///
/// Returns only if it could not be started.
pub(crate) fn lead(mut program: Command, init: Init) -> io::Error {
    // Signals are blocked before the program starts, so that none is lost. The child
    // inherits this and has to undo it.
    let before = match passed_on().thread_swap_mask(SigmaskHow::SIG_BLOCK) {
        Ok(before) => before,
        Err(error) => return error.into(),
    };
    let held: Vec<_> = before.iter().map(|signal| (signal as i32).to_string()).collect();
    program.env(HELD_BACK, held.join(" ")).process_group(0);
    let status = match program.spawn() {
        Ok(child) => attend(child),
        Err(error) => return error,
    };
    init.finish();
    end_as(status)
}

/// Unblocks the signals that the leader has blocked for this process.
pub(super) fn take_signals() -> io::Result<()> {
    let held = std::env::var(HELD_BACK).unwrap_or_default();
    let mut signals = passed_on();
    for number in held.split_ascii_whitespace() {
        let number = number.parse::<i32>().map_err(io::Error::other)?;
        signals.remove(Signal::try_from(number)?);
    }
    Ok(signals.thread_unblock()?)
}

/// The passed signals: all that can be blocked and have names.
fn passed_on() -> SigSet {
    let mut signals: SigSet = Signal::iterator().collect();
    signals.remove(Signal::SIGKILL);
    signals.remove(Signal::SIGSTOP);
    signals
}

/// Passes signals on until the program has ended.
fn attend(mut child: Child) -> io::Result<ExitStatus> {
    let_go()?;
    rights::give_up()?;
    let signals = passed_on();
    let program = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
            }
            Ok(signal) => pass_on(program, signal),
            Err(_) => {}
        }
    }
}

/// Passes a signal on to the program's group.
///
/// The program has not been reaped, so its number is not reused.
fn pass_on(program: Pid, signal: Signal) {
    // The group may be empty except for the ended program.
    let _ = killpg(program, signal);
    if getpgid(Some(program)).is_ok_and(|group| group != program) {
        let _ = kill(program, signal);
    }
}

/// Closes the standard streams, so that their other ends notice when the program closes
/// them.
fn let_go() -> io::Result<()> {
    let nothing = rustix::fs::openat(CWD, "/dev/null", OFlags::RDWR, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(rustix::stdio::dup2_stderr(&nothing)?)
}

fn end_as(status: io::Result<ExitStatus>) -> ! {
    let Ok(status) = status else { std::process::exit(crate::confinement::NOT_EXECUTED) };
    if let Some(number) = status.signal() {
        if let Ok(signal) = Signal::try_from(number) {
            die_by(signal);
        }
        std::process::exit(128 + number);
    }
    std::process::exit(status.code().unwrap_or_default())
}

/// Ends this process by a signal, if the signal ends processes.
fn die_by(signal: Signal) {
    // The program has the core dump, not the leader.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    if signal == Signal::SIGPIPE {
        // The signal is ignored since this process began. A failing execution of a
        // missing program resets it.
        let _ = Command::new("/").exec();
    }
    let mut only = SigSet::empty();
    only.add(signal);
    let _ = only.thread_unblock();
    // The first one may only remove a handler that this process began with.
    for _ in 0..2 {
        let _ = kill(Pid::this(), signal);
    }
}
