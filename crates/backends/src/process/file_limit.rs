//! The limit on open files of this process.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit before it was raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Lets this process have as many files open as the system allows it. Each
/// command that runs takes four, and many systems start with a thousand.
/// Commands get the limit as it was before: programs rely on it.
pub fn raise_file_limit() {
    let before = getrlimit(Resource::Nofile);
    if before.current < before.maximum || before.maximum.is_none() {
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            BEFORE.get_or_init(|| before);
        }
    }
}

/// Gives a process that was just started the limit as it was. It has begun by
/// then: a program that asks at once may still find the raised one.
#[cfg(target_os = "linux")]
pub(crate) fn restore(pid: i32) {
    let Some(before) = BEFORE.get() else { return };
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let limit = Rlimit { current: before.current, maximum: before.maximum };
        let _ = rustix::process::prlimit(Some(pid), Resource::Nofile, limit);
    }
}

/// Does nothing: on this system no process can change the limit of another.
#[cfg(not(target_os = "linux"))]
pub(crate) fn restore(_pid: i32) {}
