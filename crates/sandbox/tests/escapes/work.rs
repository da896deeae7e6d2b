//! The intended work of a confined program succeeds.

use std::net::TcpListener;

use crate::support::{said, workspaces};

/// Runs a script that must succeed with this output.
fn works(script: &str, says: &str) {
    for workspace in workspaces() {
        let done = workspace.confined("sh", &["-c", script]);
        assert!(done.status.success(), "{script}: {done:?}");
        assert_eq!(said(&done), says, "{script}: {done:?}");
    }
}

#[test]
fn files_are_made_changed_moved_and_removed() {
    works(
        "mkdir -p a/b && echo one > a/b/c && echo two >> a/b/c && mv a/b/c a/d && ln a/d e &&
         ln -s e f && cat f && chmod 700 e && truncate -s 3 a/d && cat e && rm -r a && test -x e",
        "one\ntwo\none",
    );
}

#[test]
fn pipes_jobs_and_devices_work() {
    works("seq 1000 | sort -rn | head -n 1", "1000");
    works("sleep 0 & wait $!; (echo a; echo b) | while read x; do echo $x; done", "a\nb");
    works("mkfifo p; echo through > p & cat p", "through");
    works(
        "echo gone > /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c",
        "4\n4",
    );
    // Of a pipe that is its own.
    works("(echo out > /dev/stdout; echo error > /dev/stderr) 2>&1 | sort", "error\nout");
    works("(echo told > /dev/fd/1) | cat", "told");
    works("cat <<X\nhere\nX", "here");
}

#[test]
fn temporary_files_go_where_it_is_said() {
    works(
        "f=$(mktemp) && echo t > \"$f\" && cat \"$f\" && case $f in \"$PWD\"/*) echo here;; esac",
        "t\nhere",
    );
}

#[test]
fn git_works() {
    works(
        "git init -q -b main repo && cd repo && git config user.name N && git config user.email e@x &&
         echo 1 > file && git add file && git commit -qm one && git switch -qc side &&
         echo 2 > file && git commit -qam two && git switch -q main && git merge -q side &&
         git worktree add -q ../tree side && git log --format=%s && cat ../tree/file &&
         git gc -q && git fsck --no-progress && git status --short",
        "two\none\n2",
    );
}

#[test]
fn python_works() {
    works(
        "python3 -c 'import subprocess, tempfile, socket, threading, json, os
a, b = socket.socketpair()
thread = threading.Thread(target=lambda: a.send(b\"hello\"))
thread.start(); thread.join()
print(b.recv(9).decode())
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, \"x\"), \"w\").write(\"y\")
print(subprocess.run([\"echo\", \"sub\"], capture_output=True, text=True).stdout)'",
        "hello\nsub",
    );
}

#[test]
fn programs_and_names_of_the_system_are_found() {
    works("test -r /etc/passwd && ls /usr/bin > /dev/null && id -u > /dev/null && echo yes", "yes");
    works("cat /proc/self/comm; readlink /proc/self/exe > /dev/null && uname > /dev/null", "cat");
}

#[test]
fn the_network_is_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port})); print(1)'"
    );
    works(&script, "1");
}
