//! Git that has outlived the process that ran it, and still writes a worktree.
//!
//! Nothing ends it when that process is killed, and it does not know that somebody
//! else begins anew where it writes. So it carries the path of its worktree in its
//! environment, and is found by that.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The variable that names the worktree.
pub(super) const MARK: &str = "OFFSHOOT_WORKTREE";

/// How often is looked whether they are gone.
const LOOKS: u32 = 2_000;

/// How often they are asked to end, before they are made to.
const ASKED: u32 = 400;

/// How long it is from one look to the next.
const BETWEEN: Duration = Duration::from_millis(5);

/// Ends those that write this worktree, and waits until they are gone.
pub(super) fn end(tree: &Path) -> io::Result<()> {
    for look in 0..LOOKS {
        let found = writing(tree);
        if found.is_empty() {
            return Ok(());
        }
        // Git that is asked takes its locks with it.
        let signal = if look < ASKED { Signal::TERM } else { Signal::KILL };
        for process in found {
            // It may have ended a moment ago.
            kill_process(process, signal).ok();
        }
        std::thread::sleep(BETWEEN);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "git still writes to it and cannot be ended"))
}

/// The processes that carry the mark of this worktree. There are none where the
/// system does not show what processes carry.
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
    fn what_still_writes_a_worktree_is_ended_and_nothing_else() {
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
