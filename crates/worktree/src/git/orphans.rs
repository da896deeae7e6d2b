//! Git processes that outlived the process that started them and still write a worktree.
//!
//! They do not end when that process is killed, and would disturb the next attempt. So git has the
//! path of its worktree in its environment, and is found by that.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The variable that names the worktree.
pub(super) const MARK: &str = "OFFSHOOT_WORKTREE";

/// The number of checks whether they are gone.
const CHECKS: u32 = 2_000;

/// The number of checks with SIGTERM, before SIGKILL.
const TERMINATIONS: u32 = 400;

/// The time between two checks.
const INTERVAL: Duration = Duration::from_millis(5);

/// Ends the processes that write this worktree, and waits until they are gone.
pub(crate) fn end(tree: &Path) -> io::Result<()> {
    for check in 0..CHECKS {
        let found = writing(tree);
        if found.is_empty() {
            return Ok(());
        }
        // Git removes its locks on SIGTERM.
        let signal = if check < TERMINATIONS { Signal::TERM } else { Signal::KILL };
        for process in found {
            // It may have ended a moment ago.
            kill_process(process, signal).ok();
        }
        std::thread::sleep(INTERVAL);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "git still writes to it and cannot be ended"))
}

/// The processes with the variable of this worktree. None if the system does not show the
/// environments of processes.
fn writing(tree: &Path) -> Vec<Pid> {
    let mark = [MARK.as_bytes(), b"=", tree.as_os_str().as_bytes()].concat();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let carries = |name: &OsStr| {
        let carried = std::fs::read(Path::new("/proc").join(name).join("environ"));
        carried.is_ok_and(|all| all.split(|byte| *byte == 0).any(|variable| variable == mark))
    };
    let pid = |name: &OsStr| Pid::from_raw(name.to_str()?.parse().ok()?);
    processes
        .filter_map(|process| {
            let name = process.file_name();
            pid(&name).filter(|_| carries(&name))
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_the_processes_that_write_the_worktree_are_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, other) = (folder.path().join("a"), folder.path().join("b"));
        let write = |tree: &Path| {
            std::fs::create_dir(tree).unwrap();
            let mut write = Command::new("sh");
            // One more below it writes.
            write.args(["-c", "(n=0; while :; do : > $n; n=$((n + 1)); done) & wait"]);
            write.current_dir(tree).env(MARK, tree).spawn().unwrap()
        };
        let (mut orphan, mut neighbour) = (write(&tree), write(&other));
        while !tree.join("0").exists() {
            std::thread::yield_now();
        }
        end(&tree).unwrap();
        orphan.wait().unwrap();
        assert_eq!(writing(&tree), []);
        std::fs::remove_dir_all(&tree).unwrap();
        assert!(neighbour.try_wait().unwrap().is_none());
        end(&other).unwrap();
        neighbour.wait().unwrap();
    }
}
