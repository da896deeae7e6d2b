//! Shared memory, queues and semaphores of System V, and queues of POSIX.
//!
//! They reach other processes without any path.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{TestWorkspace, found, said, workspaces};

/// Makes one of each, prints their numbers, and removes them at the end of the input.
const MAKES: &str = "import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
segment, queue, set = (libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600))
assert min(segment, queue, set) >= 0, ctypes.get_errno()
ctypes.memmove(libc.shmat(segment, 0, 0), b'hush', 4)
print(segment, queue, set, flush=True)
sys.stdin.read()
libc.shmctl(segment, 0, 0), libc.msgctl(queue, 0, 0), libc.semctl(set, 0, 0)";

/// Tries to reach those with these numbers, and prints the successes.
const REACHES: &str = "import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
segment, queue, set = (int(number) for number in sys.argv[1:])
place = libc.shmat(segment, 0, 0)
if place not in (None, ctypes.c_void_p(-1).value):
    print('memory', ctypes.string_at(place, 4).decode())
if libc.msgsnd(queue, ctypes.create_string_buffer(b'\\1' + bytes(15)), 4, 0o4000) == 0:
    print('queue')
if libc.semctl(set, 0, 16, 7) == 0:
    print('semaphore')
name = '/offshoot-%d' % segment
opened = ctypes.CDLL('librt.so.1').mq_open(name.encode(), 0o102, 0o600, None)
if opened >= 0:
    print('named queue')
    ctypes.CDLL('librt.so.1').mq_unlink(name.encode())";

/// The created objects, until they are dropped.
struct Made(Child, Vec<String>);

impl Made {
    fn by(workspace: &TestWorkspace) -> Self {
        let mut command = workspace.prepared(Command::new(found("python3")));
        command.args(["-c", MAKES]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self(child, line.split_whitespace().map(str::to_owned).collect())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn memory_queues_and_semaphores_of_others_are_not_reached() {
    for workspace in workspaces() {
        let made = Made::by(&workspace);
        assert_eq!(made.1.len(), 3);
        let numbers: Vec<_> = made.1.iter().map(String::as_str).collect();
        let args = [&["-c", REACHES], numbers.as_slice()].concat();
        let free = workspace.free("python3", &args);
        let reached = said(&free);
        assert!(reached.starts_with("memory hush\nqueue\nsemaphore"), "{free:?}");
        let held = workspace.confined("python3", &args);
        let (held, done) = (said(&held), held);
        assert!(!held.contains("hush") && !held.contains("semaphore"), "{done:?}");
        assert!(!held.lines().any(|line| line == "queue"), "{done:?}");
    }
}
