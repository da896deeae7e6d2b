//! The additional guarantees of namespaces.
//!
//! Each test shows that its guarantee is missing without them.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use offshoot_sandbox::{Confinement, ResourceLimits};

use crate::support::{Confined, TestWorkspace, complained, found, said, workspaces_of};

/// Runs a confined Python script. Returns the lines that it printed.
fn printed(workspace: &TestWorkspace, script: &str, args: &[&str]) -> Vec<String> {
    let args = [&["-c", script], args].concat();
    let done = workspace.confined("python3", &args);
    assert!(done.status.success(), "{done:?}");
    said(&done).lines().map(str::to_owned).collect()
}

/// Runs this with namespaces and without.
fn on_each(check: impl Fn(&TestWorkspace)) {
    for confined in [Confined::Namespaces, Confined::Floor] {
        workspaces_of(confined).iter().for_each(&check);
    }
}

/// Prints the changes of a file that worked.
const CHANGES: &str = "import os, sys
path = sys.argv[1]
ways = {
    'mode': lambda: os.chmod(path, 0o640),
    'times': lambda: os.utime(path, (1, 1)),
    'owner': lambda: os.chown(path, os.getuid(), os.getgid()),
}
for way, change in ways.items():
    try:
        change()
        print(way)
    except OSError as error:
        assert error.errno == 30, error";

#[test]
fn modes_owners_and_times_outside_are_kept() {
    on_each(|workspace| {
        let file = workspace.path("held/file");
        let before = file.metadata().unwrap();
        let changed = printed(workspace, CHANGES, &[file.to_str().unwrap()]);
        let after = file.metadata().unwrap();
        let kept = (before.mtime(), before.permissions().mode(), before.uid(), before.ctime_nsec())
            == (after.mtime(), after.permissions().mode(), after.uid(), after.ctime_nsec());
        match workspace.is_apart() {
            true => assert!(changed.is_empty() && kept, "{changed:?}"),
            false => assert!(changed.len() == 3 && !kept, "without: {changed:?}"),
        }
        let own = printed(workspace, CHANGES, &["own"]);
        assert_eq!(own.len(), 3, "its own it may change: {own:?}");
    });
}

/// Prints the visible properties of hidden files.
const SEES: &str = "import ctypes, os, sys
folder, file = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
def watch(path):
    if libc.inotify_add_watch(libc.inotify_init(), path.encode(), 0xfff) < 0:
        raise OSError(ctypes.get_errno(), '')
def same(path, size):
    if os.stat(path).st_size != size:
        raise OSError(0, 'another')
ways = {
    'size': lambda: same(folder + '/secret', 5),
    'size of a file': lambda: same(file, 6),
    'link': lambda: os.readlink(folder + '/link'),
    'watch': lambda: watch(folder + '/secret'),
    'attributes': lambda: os.listxattr(folder + '/secret'),
}
for way, see in ways.items():
    try:
        see()
        print(way)
    except OSError:
        pass";

#[test]
fn names_sizes_links_and_changes_of_hidden_paths_are_invisible() {
    on_each(|workspace| {
        std::os::unix::fs::symlink("/somewhere", workspace.path("data/link")).unwrap();
        std::fs::write(workspace.path("near/token"), "hush!!").unwrap();
        workspace.own_all();
        let hidden = [workspace.path("data"), workspace.path("near/token")];
        let by = Confinement::new([workspace.path("work")], hidden).unwrap();
        let (folder, file) = (workspace.text("data"), workspace.text("near/token"));
        let done = workspace.confined_by(&by, "python3", &["-c", SEES, &folder, &file]);
        assert!(done.status.success(), "{done:?}");
        let expected = if workspace.is_apart() { 0 } else { 5 };
        assert_eq!(said(&done).lines().count(), expected, "{done:?}");
        assert_eq!(std::fs::read(workspace.path("near/token")).unwrap(), b"hush!!");
    });
}

#[test]
fn other_processes_are_not_seen() {
    on_each(|workspace| {
        let mut sleep = workspace.prepared(Command::new(found("sleep")));
        let mut other = sleep.arg("4242424").spawn().unwrap();
        let script = "import os
for name in filter(str.isdigit, os.listdir('/proc')):
    try:
        print(open('/proc/%s/cmdline' % name).read().split(chr(0))[:2])
    except OSError:
        pass";
        let seen = printed(workspace, script, &[]);
        let sees = seen.iter().any(|line| line.contains("4242424"));
        assert_eq!(sees, !workspace.is_apart(), "{seen:?}");
        // Process 1 and itself.
        assert!(!workspace.is_apart() || seen.len() == 2, "{seen:?}");
        other.kill().unwrap();
        other.wait().unwrap();
    });
}

#[test]
fn a_program_has_the_processes_that_it_may_have_and_no_more() {
    on_each(|workspace| {
        if workspace.is_root() {
            return;
        }
        let by = workspace.usual().limited(ResourceLimits::default().processes(20));
        let script = "import os, sys
children = 0
reads, writes = os.pipe()
try:
    while children < 40:
        if os.fork() == 0:
            os.close(writes)
            os.read(reads, 1)
            os._exit(0)
        children += 1
except OSError:
    pass
print(children)";
        let done = workspace.confined_by(&by, "python3", &["-c", script]);
        let expected = if workspace.is_apart() { "19" } else { "40" };
        assert_eq!(said(&done), expected, "and itself: {done:?}");
    });
}

#[test]
fn ids_devices_and_memory_of_all_are_as_before() {
    on_each(|workspace| {
        let script = "id -u && id -g && stat -c '%u %g' own && readlink /proc/self && echo $$
            test -w /dev/null && test -d /dev/shm && echo there";
        let done = workspace.confined("sh", &["-c", script]);
        let told = said(&done);
        let lines: Vec<_> = told.lines().collect();
        let id = if workspace.is_root() { "0" } else { "65534" };
        assert_eq!(lines[..3], [id, id, &format!("{id} {id}")], "{done:?}");
        assert_eq!(lines.last(), Some(&"there"), "{done:?}");
        assert_eq!(lines[4] == "2", workspace.is_apart(), "{done:?}");
        if workspace.is_root() {
            let script = "chown 1234:5678 own && stat -c '%u %g' own && chown 0:0 own &&
                setpriv --reuid 77 --regid 78 --groups 79 sh -c 'id -u; id -g; id -G'";
            let done = workspace.confined("sh", &["-c", script]);
            assert_eq!(said(&done), "1234 5678\n77\n78\n78 79", "{done:?}");
            let port = "import socket; socket.socket().bind(('127.0.0.1', 1)); print('bound')";
            assert_eq!(said(&workspace.confined("python3", &["-c", port])), "bound");
        }
    });
}

#[test]
fn a_mount_outside_keeps_what_it_refuses() {
    for workspace in workspaces_of(Confined::Namespaces) {
        let list = "cut -d' ' -f5,6 /proc/self/mountinfo";
        let free = said(&workspace.free("sh", &["-c", list]));
        let held = said(&workspace.confined("sh", &["-c", list]));
        for line in free.lines() {
            let (point, options) = line.split_once(' ').unwrap();
            let now = held.lines().rev().filter_map(|line| line.split_once(' '));
            let Some((_, now)) = now.into_iter().find(|(other, _)| *other == point) else {
                // Below the old `/proc`.
                assert!(point.starts_with("/proc/"), "{point}");
                continue;
            };
            assert!(now.starts_with("ro,"), "{line}: {now}");
            for refuses in ["nosuid", "nodev", "noexec"] {
                let before = options.split(',').any(|option| option == refuses);
                assert!(!before || now.split(',').any(|option| option == refuses), "{line}: {now}");
            }
        }
    }
}

#[test]
fn without_namespaces_the_rest_holds() {
    for workspace in workspaces_of(Confined::Floor) {
        let here = |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
        let script = "for name in user mnt pid ipc; do readlink /proc/self/ns/$name; done
            echo x > ../held/file || echo kept";
        let told = said(&workspace.confined("sh", &["-c", script]));
        let lines: Vec<_> = told.lines().collect();
        for (name, line) in ["user", "mnt", "pid", "ipc"].iter().zip(&lines) {
            assert_eq!(here(name), Path::new(line));
        }
        assert_eq!(lines.last(), Some(&"kept"));
    }
}

#[test]
fn a_step_that_fails_is_named_and_nothing_is_executed() {
    for workspace in workspaces_of(Confined::Namespaces) {
        // Within a confinement there are no namespaces to be made.
        let inner = workspace.usual().command(&workspace.helper(), found("touch"));
        let mut args: Vec<_> = inner.get_args().map(|arg| arg.to_str().unwrap()).collect();
        args.push("executed");
        let by = Confinement::new([workspace.path("work")], [""; 0]).unwrap();
        let tried = workspace.confined_by(&by, &workspace.operations(), &args);
        assert_eq!(tried.status.code(), Some(126), "{tried:?}");
        let why = complained(&tried);
        assert!(why.contains("namespaces: ") && why.lines().count() == 1, "{why}");
        assert!(!workspace.path("work/executed").exists());
    }
}

#[test]
fn a_stream_that_the_program_closes_is_closed() {
    on_each(|workspace| {
        let command = workspace.usual().command(&workspace.helper(), found("sh"));
        let mut command = workspace.prepared(command);
        let script = "echo on; exec >&- 2>&-; read line <&0; exit 5";
        let command = command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (mut out, mut error) = (String::new(), String::new());
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert_eq!((out.as_str(), error.as_str()), ("on\n", ""));
        assert!(child.try_wait().unwrap().is_none(), "it runs on");
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(5));
    });
}

#[test]
fn the_working_directory_may_be_elsewhere() {
    on_each(|workspace| {
        let command = workspace.usual().command(&workspace.helper(), found("sh"));
        let mut command = workspace.prepared(command);
        let near = workspace.path("near");
        let done = command.current_dir(&near).args(["-c", "pwd; cat plain; cat ../work/own"]);
        let done = done.output().unwrap();
        assert_eq!(said(&done), format!("{}\nnear\nwork", near.display()), "{done:?}");
    });
}
