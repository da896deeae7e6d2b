//! Priority, processors and I/O class of processes outside.

use std::process::{Child, Command};

use crate::support::{TestWorkspace, found, said, workspaces};

/// An unconfined process that waits.
struct Other(Child);

impl Other {
    fn of(workspace: &TestWorkspace) -> Self {
        Self(workspace.prepared(Command::new(found("sleep"))).arg("1000").spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

/// Tries each change of a process, given by its number, and prints the successes.
const CHANGES: &str = "import ctypes, os, sys
pid = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    if libc.syscall(ctypes.c_long(number), *args) == -1:
        raise OSError(ctypes.get_errno(), '')
def limits(who):
    block = ctypes.create_string_buffer(48)
    block[0] = 48
    block[4] = 3
    block[16] = 19
    call(int(sys.argv[3]), who, block, 0)
ways = {
    'nice': lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
    'class': lambda: call(int(sys.argv[2]), 1, pid, (3 << 13)),
    'processors': lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)),
    'scheduler': lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    'parameters': lambda: os.sched_setparam(pid, os.sched_param(0)),
    'attributes': lambda: limits(pid),
}
for way, change in ways.items():
    try:
        change()
    except OSError as error:
        continue
    print(way)";

fn changed(workspace: &TestWorkspace, pid: &str, confined: bool) -> Vec<String> {
    let (class, attributes) =
        (libc::SYS_ioprio_set.to_string(), libc::SYS_sched_setattr.to_string());
    let args = ["-c", CHANGES, pid, &class, &attributes];
    let done = match confined {
        true => workspace.confined("python3", &args),
        false => workspace.free("python3", &args),
    };
    assert!(done.status.success(), "{done:?}");
    said(&done).lines().map(str::to_owned).collect()
}

#[test]
fn a_process_outside_keeps_its_priority_and_processors() {
    for workspace in workspaces() {
        let other = Other::of(&workspace);
        let free = changed(&workspace, &other.pid(), false);
        assert_eq!(free.len(), 6, "each of them works unconfined: {free:?}");
        let other = Other::of(&workspace);
        assert_eq!(changed(&workspace, &other.pid(), true), [""; 0]);
    }
}

#[test]
fn a_confined_program_sets_its_own_priority_and_processors() {
    for workspace in workspaces() {
        assert_eq!(changed(&workspace, "0", true).len(), 6);
        let script = "nice -n 19 nice && taskset -p $$ > /dev/null && echo seen";
        assert_eq!(said(&workspace.confined("sh", &["-c", script])), "19\nseen");
    }
}
