//! Resource limits of confined programs.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use offshoot_sandbox::ResourceLimits;

use crate::support::{found, said, workspaces};

/// Returns the soft and the hard limits of these names in `/proc/self/limits`.
fn limits(text: &str, name: &str) -> (String, String) {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let mut values = line.split_ascii_whitespace().map(str::to_owned);
    (values.next().unwrap(), values.next().unwrap())
}

#[test]
fn a_confined_program_has_limits_of_its_own() {
    for workspace in workspaces() {
        let show = ["/proc/self/limits"];
        let (free, held) = (workspace.free("cat", &show), workspace.confined("cat", &show));
        let (free, held) = (said(&free), said(&held));
        for name in ["Max processes", "Max data size"] {
            assert_ne!(limits(&held, name).0, limits(&free, name).0, "{name}: {free} {held}");
        }
        assert_eq!(limits(&held, "Max core file size"), ("0".into(), "0".into()));
        let files: u64 = limits(&held, "Max open files").1.parse().unwrap();
        assert!(files <= 65_536, "{held}");
        let score = workspace.confined("cat", &["/proc/self/oom_score_adj"]);
        assert!(said(&score).parse::<i32>().unwrap() >= 500, "{score:?}");
    }
}

#[test]
fn limits_that_are_set_hold_and_cannot_be_lifted() {
    for workspace in workspaces() {
        let limits = ResourceLimits::default().memory(256 << 20).open_files(64);
        let by = workspace.usual().limited(limits.initial_open_files(Some(32)));
        let script = "ulimit -n; ulimit -d; ulimit -Hn 128; ulimit -Sn 64 && ulimit -n
            ulimit -d unlimited || echo kept";
        let done = workspace.confined_by(&by, "sh", &["-c", script]);
        assert_eq!(said(&done), "32\n262144\n64\nkept", "{done:?}");
        let grow = "bytearray(512 << 20); print('grown')";
        let grown = workspace.confined_by(&by, "python3", &["-c", grow]);
        assert!(String::from_utf8_lossy(&grown.stderr).contains("MemoryError"), "{grown:?}");
        assert_eq!(said(&workspace.confined("python3", &["-c", grow])), "grown");
        let reserves =
            "import mmap; mmap.mmap(-1, 512 << 20, prot=mmap.PROT_READ); print('reserved')";
        let reserved = workspace.confined_by(&by, "python3", &["-c", reserves]);
        assert_eq!(said(&reserved), "reserved", "what is not written to is not counted");
    }
}

#[test]
fn a_fork_bomb_leaves_the_user_processes_to_start() {
    // Root is not held to a number of processes.
    for workspace in workspaces().iter().filter(|workspace| !workspace.is_root()) {
        let by = workspace.usual().limited(ResourceLimits::default().processes(40));
        let load = std::fs::read_to_string("/proc/loadavg").unwrap();
        let tasks = load.split_whitespace().nth(3).unwrap().split('/').nth(1).unwrap();
        let most: u64 = tasks.parse::<u64>().unwrap() + 400;
        // Starts as many as it can, and waits until all of them are told to end.
        let bomb = "import os, sys, time
children, refused = 0, 0
try:
    while children < int(sys.argv[1]):
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
        children += 1
except OSError as error:
    refused = error.errno
print(refused)
print(children, flush=True)
sys.stdin.read()";
        let mut command = workspace.prepared(by.command(&workspace.helper(), found("python3")));
        command.args(["-c", bomb, &most.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let lines: Vec<_> = out.lines().take(2).map(|line| line.unwrap()).collect();
        assert_eq!(lines[0], "11", "it is refused more: {lines:?}");
        let children: u64 = lines[1].parse().unwrap();
        assert!(children < most, "{children}");
        let free = workspace.free("sh", &["-c", "(echo yes) | cat"]);
        assert_eq!(said(&free), "yes", "the same user outside still starts processes");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

#[test]
fn confined_programs_leave_a_quarter_of_the_processes_of_their_user() {
    for workspace in workspaces() {
        let inner = workspace.usual().command(&workspace.helper(), found("cat"));
        let mut command = workspace.prepared(Command::new("/bin/bash"));
        command.args(["-c", "ulimit -u 2000 && exec \"$@\"", "bash"]).arg(inner.get_program());
        let done = command.args(inner.get_args()).arg("/proc/self/limits").output().unwrap();
        let held = said(&done);
        assert_eq!(limits(&held, "Max processes"), ("1500".into(), "1500".into()), "{done:?}");
    }
}
