//! Access to other processes.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Child, Command};

use offshoot_sandbox::{Support, probe};

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

#[test]
fn a_process_outside_is_not_signalled() {
    for workspace in workspaces() {
        if probe() == Support::ButSignals {
            eprintln!("SKIPPED: {}", Support::ButSignals);
            return;
        }
        let (mut free, mut held) = (Other::of(&workspace), Other::of(&workspace));
        let done = workspace.free(&workspace.operations(), &["signal", &free.pid()]);
        assert!(done.status.success(), "{done:?}");
        assert!(!free.0.wait().unwrap().success());
        workspace.refuses_only(&["signal", &held.pid()]);
        let script = format!("kill -9 {0}; kill -9 -{0}; true", held.pid());
        let tried = workspace.confined("sh", &["-c", &script]);
        assert!(tried.status.success() && held.0.try_wait().unwrap().is_none(), "{tried:?}");
        let own = workspace.confined("sh", &["-c", "sleep 1000 & kill $!; wait $!; echo $?"]);
        assert_eq!(said(&own), "143", "its own it may signal: {own:?}");
    }
}

#[test]
fn a_process_outside_keeps_its_limits() {
    for workspace in workspaces() {
        let other = Other::of(&workspace);
        workspace.refuses(&["limit", &other.pid(), "4611686018427387911"]);
        let script = format!("import resource; resource.prlimit({}, 7, (64, 64))", other.pid());
        let tried = workspace.confined("python3", &["-c", &script]);
        assert!(String::from_utf8_lossy(&tried.stderr).contains("PermissionError"), "{tried:?}");
        let free = workspace.free("python3", &["-c", &script]);
        assert!(free.status.success(), "{free:?}");
    }
}

#[test]
fn the_limit_that_tells_a_task_cannot_be_taken_off() {
    for workspace in workspaces() {
        workspace.refuses(&["limit", "self", "4611686018427387911"]);
        let script = "ulimit -n 64 && ulimit -n && grep -c realtime /proc/self/limits";
        let done = workspace.confined("sh", &["-c", script]);
        assert_eq!(said(&done), "64\n2", "other limits are its own: {done:?}");
        let script = "\"$@\" limit self 4611686018427387911 || (exec \"$@\" limit self 5)";
        let tried = workspace.confined("sh", &["-c", script, "sh", &workspace.operations()]);
        assert_eq!(said(&tried), "1\n1", "nor by what it starts: {tried:?}");
    }
}

#[test]
fn a_socket_of_this_machine_is_not_reached() {
    for workspace in workspaces() {
        let _by_path = UnixListener::bind(workspace.path("near/socket")).unwrap();
        let _in_work = UnixListener::bind(workspace.path("work/socket")).unwrap();
        workspace.own_all();
        workspace.refuses(&["connect", &workspace.text("near/socket")]);
        workspace.refuses(&["connect", &workspace.text("work/socket")]);
        let name = workspace.text("abstract");
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();
        workspace.refuses(&["connect-abstract", &name]);
    }
}

#[test]
fn half_of_a_pair_of_sockets_is_no_way_out_either() {
    for workspace in workspaces() {
        let socket = UnixDatagram::bind(workspace.path("near/socket")).unwrap();
        socket.set_nonblocking(true).unwrap();
        let _listener = UnixListener::bind(workspace.path("near/listener")).unwrap();
        workspace.own_all();
        let script = "import socket, sys
try:
    one, other = socket.socketpair(socket.AF_UNIX, getattr(socket, sys.argv[1]))
    one.connect(sys.argv[2])
    one.send(b'out')
    print('sent')
except OSError as error:
    print(error.errno)";
        let (socket_path, listener) =
            (workspace.text("near/socket"), workspace.text("near/listener"));
        let loose = ["-c", script, "SOCK_DGRAM", &socket_path];
        assert_eq!(said(&workspace.free("python3", &loose)), "sent");
        assert_eq!(socket.recv(&mut [0; 9]).unwrap(), 3);
        assert_eq!(said(&workspace.confined("python3", &loose)), "1");
        assert!(socket.recv(&mut [0; 9]).is_err(), "nothing came");
        // These can be made, and have one peer for good.
        for kind in ["SOCK_STREAM", "SOCK_SEQPACKET"] {
            let bound = ["-c", script, kind, &listener];
            let (free, held) =
                (workspace.free("python3", &bound), workspace.confined("python3", &bound));
            assert_eq!(said(&held), said(&free), "{kind}");
            assert!(!["sent", "1"].contains(&said(&held).as_str()), "{kind}: {held:?}");
        }
    }
}

#[test]
fn no_open_file_is_inherited() {
    for workspace in workspaces() {
        let secret = workspace.text("data/secret");
        let script = "exec 7<\"$1\" 9<\"$1\"; shift; exec \"$@\"";
        let operation = ["read", "/proc/self/fd/7"];
        let mut free = vec!["-c", script, "sh", &secret];
        let operations = workspace.operations();
        free.extend([operations.as_str(), operation[0], operation[1]]);
        assert_eq!(said(&workspace.free("sh", &free)), "data");
        let wrapped = |operation: &[&str]| {
            let mut command = workspace.prepared(Command::new("/bin/sh"));
            let inner = workspace.usual().command(&workspace.helper(), &operations);
            command.args(["-c", script, "sh", &secret]);
            command
                .arg(inner.get_program())
                .args(inner.get_args())
                .args(operation)
                .output()
                .unwrap()
        };
        assert_eq!(said(&wrapped(&operation)), "2", "there is none");
        assert_eq!(said(&wrapped(&["descriptors"])), "3", "but for the standard streams");
    }
}
