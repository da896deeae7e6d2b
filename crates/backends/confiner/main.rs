//! The sandbox helper of the tests, and a program for them to confine.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The longest life of a process of a bomb.
const LONGEST: Duration = Duration::from_secs(60);

fn main() {
    offshoot_sandbox::enter_if_asked();
    if std::env::args_os().nth(1).is_some_and(|argument| argument == "bomb") {
        fork_bomb();
    }
}

/// Starts copies of itself, each in a group of its own, for as long as it lives. The file `full`
/// shows that the system refused one.
fn fork_bomb() {
    let begun = Instant::now();
    let Ok(program) = std::env::current_exe() else { return };
    let mut full = false;
    while begun.elapsed() < LONGEST {
        let mut copy = Command::new(&program);
        let copy = copy.arg("bomb").stdin(Stdio::null()).process_group(0).spawn();
        if copy.is_err() && !full {
            full = std::fs::write("full", "").is_ok();
        }
    }
}
